"""The README's commands and Python, run with the `privet` that belongs to this interpreter. The standard library only.

`make wheel` runs this file in an environment that holds nothing but the wheel and its dependencies.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)

CODE = re.compile(r"exit code (\d)")


def commands(console: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block, and the lines shown below it; `...` stands for lines that are not shown."""
    for command in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        asked, *shown = command.splitlines()
        yield asked, [line for line in shown if line != "..."]


def exit_code(asked: str, shown: list[str]) -> int:
    """That which the page says: a refusal ends with 2, and a comment may say another one."""
    said = CODE.search(asked)
    return 2 if shown and shown[0].startswith("privet: ") else int(said[1]) if said else 0


def write_tables(folder: Path) -> None:
    """The files that somebody has who follows the last commands."""
    visits = [(n // 3, n % 90, n % 4000, "ABC"[n % 3]) for n in range(600)]
    for name, rows in {
        "visits.csv": [("patient_id", "age", "cost", "ward"), *visits],
        "wards.csv": [("ward", "floor"), ("A", 1), ("B", 1), ("C", 2)],
    }.items():
        with (folder / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)


def run(asked: str, shown: list[str], folder: Path) -> str | None:
    """What is wrong with a command, if something is. An attack on fresh noise may, once in a few hundred runs, find
    somebody by luck; it is not lucky three times."""
    tries = 3 if asked.startswith("privet attack ") and "--epsilon" in asked else 1
    problem = None
    for _ in range(tries):
        problem = tried(asked, shown, folder)
        if problem is None:
            break
    return problem


def tried(asked: str, shown: list[str], folder: Path) -> str | None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        asked, shell=True, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode != exit_code(asked, shown):
        return f"{asked}\nended with {done.returncode}: {done.stderr}"
    said = (done.stdout or done.stderr).splitlines()[: len(shown)]
    return None if said == shown else f"{asked}\nsaid {said}, and the page says {shown}"


def main() -> int:
    """One line for each command; 1 if one of them does not do what the page says."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    wrong = []
    with tempfile.TemporaryDirectory() as made:
        asked_of, fresh = Path(made, "python"), Path(made, "console")
        for folder in (asked_of, fresh):
            folder.mkdir()
        shutil.copytree(ROOT / "examples", fresh / "examples")
        write_tables(fresh)
        (asked_of / "page.py").write_text("\n".join(PYTHON.findall(page)), encoding="utf-8")
        asks = [("python page.py", list[str](), asked_of)]
        for asked, shown in (found for console in CONSOLE.findall(page) for found in commands(console)):
            asks.append((asked, shown, asked_of if exit_code(asked, shown) == 2 else fresh))
        for asked, shown, folder in asks:
            if not asked.startswith("make "):
                print(f"$ {asked}", flush=True)
                wrong += [problem for problem in [run(asked, shown, folder)] if problem]
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
