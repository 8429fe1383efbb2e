"""The index of files at the end of docs/design/architecture.md, made of the first line of each file.

python tools/file_index.py --check     the page has the index of today's files (`make check`)
python tools/file_index.py --write     put it there
"""

from __future__ import annotations

import ast
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/design/architecture.md"
HEADING = "\n## Every file\n"
WORDS = """
What each file is for, in the words of its first line. `tools/file_index.py --write` makes this list.
"""


def purpose(file: Path) -> str:
    """What the file says of itself: its first line, to the end of a sentence, without the marks that the tree has."""
    paragraph = (ast.get_docstring(ast.parse(file.read_text())) or "").split("\n\n")[0]
    line, *rest = paragraph.split("\n")
    if rest and not line.endswith("."):
        line = f"{line} {' '.join(rest)}".split(". ")[0]
    for mark in ("TRUSTED and PURE: ", "TRUSTED: ", "Untrusted: ", "Free: "):
        line = line.removeprefix(mark)
    return line[:1].upper() + line[1:].rstrip(".")


def index(root: Path) -> str:
    """One heading for each folder, one line for each file."""
    files = sorted(root.rglob("*.py"), key=lambda file: (file.parent, file.name))
    parts = [HEADING, WORDS]
    for folder, members in groupby(files, key=lambda file: file.parent):
        named = [file for file in members if not file.name.startswith("__")]
        if named:
            parts.append(f"\n**`{folder.relative_to(root.parent)}/`**\n\n")
            parts += [f"- `{file.name}`: {purpose(file)}\n" for file in named]
    return "".join(parts)


def main() -> int:
    """Write the index, or compare it with the page's."""
    page = PAGE.read_text()
    wanted = page.split(HEADING)[0] + index(ROOT / "src/privet")
    if "--write" in sys.argv:
        PAGE.write_text(wanted)
    elif page != wanted:
        print("docs/design/architecture.md does not list today's files; run: python tools/file_index.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
