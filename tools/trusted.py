"""The list of what the guarantee rests on, docs/design/trusted.toml, and the lists that are made from it.

python tools/trusted.py --check        all of them agree with it (`make check`)
python tools/trusted.py --write        make them agree
python tools/trusted.py --coverage     the files whose branches must all be reached, for `coverage report --include`
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = "docs/design/trusted.toml"
KINDS = {
    "tested": "Tested against a definition on the list",
    "checked": "Checked at run time",
    "free": "Free: works on released numbers, or before any data are read",
}


@dataclass(frozen=True, kw_only=True)
class Read:
    """A file to read, or parts of it."""

    file: str
    look: str
    parts: tuple[str, ...] = ()
    learners: bool = False  # to be read by those who fit models, after the rest


@dataclass(frozen=True, kw_only=True)
class Fence:
    """Why these files need not be read."""

    kind: str
    files: tuple[str, ...]
    why: str
    against: str | None = None
    by: str | None = None
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Question:
    ask: str
    file: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class Trusted:
    """The list. Files are relative to src/privet of `root`."""

    root: Path
    most_lines: int
    most_lines_of_learners: int
    read: tuple[Read, ...]
    fences: tuple[Fence, ...]
    questions: tuple[Question, ...]
    tests: dict[str, list[str]] = field(default_factory=dict)

    @cached_property
    def files(self) -> list[str]:
        """All files of the package."""
        source = self.root / "src" / "privet"
        return sorted(path.relative_to(source).as_posix() for path in source.rglob("*.py"))

    @cached_property
    def test_files(self) -> dict[str, Path]:
        """All files of tests by their names, such as test_law.py. No two have the same name."""
        return {path.name: path for path in (self.root / "tests").rglob("test_*.py")}

    @cached_property
    def whole(self) -> set[str]:
        """The files that are read from the first line to the last."""
        return {one.file for one in self.read if not one.parts}

    def fence(self, file: str) -> Fence | None:
        """The fence of a file: one that names it, otherwise that of its room; None if it is read, or unknown."""
        if file in self.whole:
            return None
        named = {name: one for one in self.fences for name in one.files}
        return named.get(file) or named.get(room_of(file))

    def known(self, module: str) -> bool:
        """Is a module, such as privet.core.loss, read or fenced?"""
        path = "/".join(module.split(".")[1:])
        file = f"{path}.py" if f"{path}.py" in self.files else f"{path}/__init__.py".lstrip("/")
        return file in self.files and (file in self.whole or self.fence(file) is not None)

    def trusted(self) -> list[str]:
        """All files that are read, tested or checked: what is not free."""
        carrying = ("tested", "checked")
        found = [file for file in self.files if (fence := self.fence(file)) is not None and fence.kind in carrying]
        return sorted({one.file for one in self.read}.union(found))

    def tests_of(self, file: str) -> list[str]:
        """The names of the tests that notice a change in a file."""
        return self.tests.get(file) or self.tests.get(room_of(file), [])

    def lines(self, one: Read) -> int:
        """How many lines of it are read."""
        text = self.text(one.file)
        found = spans(text)
        return sum(found[part][1] - found[part][0] + 1 for part in one.parts) if one.parts else len(text.splitlines())

    def text(self, file: str) -> str:
        return (self.root / "src" / "privet" / file).read_text(encoding="utf-8")

    def all_lines(self, *, learners: bool) -> int:
        return sum(self.lines(one) for one in self.read if one.learners == learners)


def room_of(file: str) -> str:
    """core/ for core/loss.py; a file outside of all rooms is its own."""
    room, slash, _ = file.partition("/")
    return room + slash


def spans(text: str) -> dict[str, tuple[int, int]]:
    """First and last lines of functions and classes, such as `Transaction.charge`; decorators belong to them."""
    found: dict[str, tuple[int, int]] = {}

    def look(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                found[prefix + node.name] = (first, node.end_lineno or first)
                look(node.body, f"{prefix}{node.name}.")

    look(ast.parse(text).body, "")
    return found


def load(root: Path = ROOT) -> Trusted:
    """The list of a project in `root`."""
    said = tomllib.loads((root / LIST).read_text(encoding="utf-8"))
    return Trusted(
        root=root,
        most_lines=said["most_lines"],
        most_lines_of_learners=said["most_lines_of_learners"],
        read=tuple(Read(**_frozen(one)) for one in said["read"]),
        fences=tuple(Fence(**_frozen(one)) for one in said["fence"]),
        questions=tuple(Question(**one) for one in said["question"]),
        tests=said["tests"],
    )


def _frozen(table: dict[str, object]) -> dict[str, object]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}


def problems(trusted: Trusted) -> list[str]:
    """What is wrong with the list itself."""
    listed, files = {one.file for one in trusted.read}, set(trusted.files)
    named = [name for fence in trusted.fences for name in fence.files]
    found = [f"{name} is fenced twice" for name in sorted({name for name in named if named.count(name) > 1})]
    for name in [*listed, *named, *trusted.tests]:
        if name not in files and not (name.endswith("/") and any(file.startswith(name) for file in files)):
            found.append(f"{name} is not there")
    found += [f"{name} is read as a whole and fenced" for name in named if name in trusted.whole]
    for fence in trusted.fences:
        definition = {"tested": fence.against, "checked": fence.by, "free": None}[fence.kind]
        if fence.kind != "free" and definition not in listed:
            found.append(f"{fence.files[0]}: {definition} is not on the reading list")
        if (fence.kind == "tested") != bool(fence.tests):
            found.append(f"{fence.files[0]}: a fence has tests if it is 'tested', and only then")
        found += [f"{test} is not there" for test in fence.tests if not _is_test(trusted, test)]
    found += [f"{name}: test_{name}.py is not there" for name in _tests_missing(trusted)]
    found += [f"{one.ask} {one.file} is not on the reading list" for one in trusted.questions if one.file not in listed]
    found += [f"{file} is read in part, and the rest has no fence" for file in listed if not _fenced(trusted, file)]
    found += [f"{file} has no tests" for file in trusted.trusted() if not trusted.tests_of(file)]
    there = {one: spans(trusted.text(one.file)) if one.file in files else {} for one in trusted.read}
    found += [f"{one.file} has no {part}" for one in trusted.read for part in one.parts if part not in there[one]]
    if not found:
        for learners, most in ((False, trusted.most_lines), (True, trusted.most_lines_of_learners)):
            lines = trusted.all_lines(learners=learners)
            found += [f"{lines} lines to read: more than {most}"] if lines > most else []
    return found


def _is_test(trusted: Trusted, test: str) -> bool:
    """Is there a function such as test_law.py::test_laplace?"""
    file, _, function = test.partition("::")
    path = trusted.test_files.get(file)
    return path is not None and f"\ndef {function}(" in path.read_text(encoding="utf-8")


def _tests_missing(trusted: Trusted) -> list[str]:
    names = {name for tests in trusted.tests.values() for name in tests}
    return sorted(name for name in names if f"test_{name}.py" not in trusted.test_files)


def _fenced(trusted: Trusted, file: str) -> bool:
    return file in trusted.whole or trusted.fence(file) is not None


# ---- what is made from it


def import_rule(trusted: Trusted) -> str:
    """What is read as a whole imports no room that is free, and none that a release never enters."""
    carrying = {*map(room_of, trusted.trusted()), "errors.py", "typing.py", "__init__.py"}
    rooms = sorted({*map(room_of, trusted.files)} - carrying)
    sources = sorted(_module(file) for file in trusted.whole)
    return "\n".join([
        "[[tool.importlinter.contracts]]",
        'name = "what is read for the guarantee imports no room that is free"',
        'type = "forbidden"',
        "as_packages = false",
        "allow_indirect_imports = true",
        "source_modules = [",
        *(f'    "{name}",' for name in sources),
        "]",
        "forbidden_modules = [",
        *(f"    {_below(room)}," for room in rooms),
        "]",
    ])  # fmt: skip


def _module(file: str) -> str:
    return "privet." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _below(room: str) -> str:
    """A module; or a room and everything in it."""
    name = _module(room.removesuffix("/"))
    return f'"{name}", "{name}.**"' if room.endswith("/") else f'"{name}"'


def contributing(trusted: Trusted) -> str:
    """For CONTRIBUTING.md: where two careful reads are needed."""
    lines = []
    for learners, what in ((False, "guarantee"), (True, "guarantee of learners as well")):
        read = ", ".join(f"`{one.file}`" for one in trusted.read if one.learners == learners)
        lines.append(f"  Read to verify the {what} ({trusted.all_lines(learners=learners):,} lines): {read}.")
    for kind in ("tested", "checked"):
        names = sorted(name for fence in trusted.fences if fence.kind == kind for name in fence.files)
        lines.append(f"  {KINDS[kind]}: {', '.join(f'`{name}`' for name in names)}.")
    return "\n".join(lines)


def reading(trusted: Trusted, *, learners: bool = False) -> str:
    """For docs/design/review.md: what to read, in which order."""
    rows = ["| file | lines | what to look for |", "|---|---|---|"]
    for one in (one for one in trusted.read if one.learners == learners):
        parts = f": {', '.join(f'`{part}`' for part in one.parts)}" if one.parts else ""
        rows.append(f"| [{one.file}](../../src/privet/{one.file}){parts} | {trusted.lines(one)} | {one.look} |")
    return "\n".join([*rows, f"| total | {trusted.all_lines(learners=learners):,} | |"])


def fenced(trusted: Trusted) -> str:
    """For docs/design/review.md: what is behind each fence."""
    blocks = []
    for kind, title in KINDS.items():
        rows = [f"### {title}", "", "| files | why they need not be read | shown by |", "|---|---|---|"]
        for one in (fence for fence in trusted.fences if fence.kind == kind):
            shown = [f"against `{one.against}`", *(f"`{test}`" for test in one.tests)] if one.against else []
            shown += [f"`{one.by}`"] if one.by else []
            rows.append(f"| {', '.join(f'`{name}`' for name in one.files)} | {one.why} | {', '.join(shown)} |")
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks)


def asked(trusted: Trusted) -> str:
    """For docs/design/review.md: questions that a reviewer asks."""
    rows = ["| question | file | answer |", "|---|---|---|"]
    return "\n".join(
        rows
        + [f"| {one.ask} | [{one.file}](../../src/privet/{one.file}) | {one.answer} |" for one in trusted.questions]
    )


BLOCKS = {
    ("pyproject.toml", "import rule"): import_rule,
    ("CONTRIBUTING.md", "trusted"): contributing,
    ("docs/design/review.md", "reading"): reading,
    ("docs/design/review.md", "reading of learners"): partial(reading, learners=True),
    ("docs/design/review.md", "fences"): fenced,
    ("docs/design/review.md", "questions"): asked,
}


def marks(file: str, name: str) -> tuple[str, str]:
    """The lines around a block that is made."""
    said = f"{name}: made from {LIST} by tools/trusted.py"
    return (
        (f"# {said}", f"# end of {name}") if file.endswith(".toml") else (f"<!-- {said} -->", f"<!-- end of {name} -->")
    )


def updated(text: str, block: str, around: tuple[str, str]) -> str:
    """The text with this block between its two marks."""
    before, mark, rest = text.partition(around[0])
    _, end, after = rest.partition(around[1])
    if not mark or not end:
        raise SystemExit(f"trusted: the marks {around} are missing")
    return f"{before}{mark}\n{block}\n{end}{after}"


def stale(trusted: Trusted, *, write: bool) -> list[str]:
    """The files that do not agree with the list; with `write` they are made to."""
    found = []
    for (file, name), make in BLOCKS.items():
        path = trusted.root / file
        text = path.read_text(encoding="utf-8")
        new = updated(text, make(trusted), marks(file, name))
        if new != text:
            found.append(f"{file}: {name}")
            if write:
                path.write_text(new, encoding="utf-8")
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    choice = parser.add_mutually_exclusive_group(required=True)
    for name in ("check", "write", "coverage"):
        choice.add_argument(f"--{name}", action="store_true")
    chosen, trusted = parser.parse_args(arguments), load()
    if chosen.coverage:
        print(",".join(f"src/privet/{file}" for file in trusted.trusted()))
        return 0
    wrong = problems(trusted)
    differing = [] if wrong else stale(trusted, write=chosen.write)
    remedy = "changed" if chosen.write else f"does not agree with {LIST}: run python tools/trusted.py --write"
    print(*(f"trusted: {problem}" for problem in wrong), *(f"{place} {remedy}" for place in differing), sep="\n")
    return int(bool(wrong) or (bool(differing) and not chosen.write))


if __name__ == "__main__":
    sys.exit(main())
