"""Change trusted code one token at a time and see whether the tests notice.

    python benchmarks/mutation.py [--fenced | --learners] [--only noise/fast.py] [--sample 300] [--tiny] [--json FILE]

What is changed, and which tests can notice it, stands in docs/design/trusted.toml: the reading list, and with --fenced
also what is tested against it or checked at run time. With --learners: what is read by those who fit models, and the
files that decide which rows a learner gets and how long a share of a gradient is.

Written here because mutmut leaves decorated functions alone, and every trusted function carries @claim. A mutant is a
copy of src/privet with one change, tested in a forked process that has pytest, NumPy and SciPy loaded already. What
survives is listed; docs/testing.md explains each survivor.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evidence import ROOT, Evidence, options, parse

sys.path.insert(0, str(ROOT / "tools"))

from trusted import Trusted, load, spans  # from tools/

TRUSTED = load(ROOT)
PATIENCE = 2  # a mutant that takes so many times the processor time of the unchanged code hangs: noticed
SEED = 2026  # of a sample: fixed before looking
Mutant = tuple[int, str, str]  # line, what changed, whole text

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd, ast.MatMult: ast.Mult,
}  # fmt: skip
OF_LEARNERS = ("learn/network.py", "backends/course_rows.py", "backends/held_rows.py")
NAMES = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "any": "all", "all": "any"}


def mutate(node: ast.AST) -> ast.AST | None:
    """The node with one change, or None where there is nothing to change."""
    changed = copy.copy(node)
    match changed:
        case ast.Compare(ops=[op, *rest]):
            changed.ops = [COMPARISONS[type(op)](), *rest]
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            changed.op = OPERATORS[type(op)]()
        case ast.BoolOp(op=op):
            changed.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            return changed.operand
        case ast.Constant(value=bool(value)):
            changed.value = not value
        case ast.Constant(value=int(value)):
            changed.value = value + 1
        case ast.Constant(value=float(value)):
            changed.value = value * 2 + 1
        case ast.Name(id=name) if name in NAMES:
            changed.id = NAMES[name]
        case ast.Attribute(attr=name) if name in NAMES:
            changed.attr = NAMES[name]
        case ast.Expr(value=ast.Call()):
            return ast.Pass()
        case _:
            return None
    return changed


def skipped(node: ast.AST, field: str) -> bool:
    """Types, decorators and messages do not run, or only speak."""
    return field in {"annotation", "returns", "decorator_list"} or isinstance(node, ast.JoinedStr)


def sites(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """(parent, field, place in a list, child) of every node, in the order of the text."""
    for field, value in ast.iter_fields(node):
        if skipped(node, field):
            continue
        for i, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                yield node, field, i, child
                yield from sites(child)


def mutants(path: Path) -> Iterator[Mutant]:
    """(line, what changed, whole text) for every mutant of a file."""
    tree = ast.parse(path.read_text())
    for parent, field, i, child in list(sites(tree)):
        changed = mutate(child)
        if changed is None:
            continue
        before = ast.unparse(child)
        put(parent, field, i, changed)
        yield getattr(child, "lineno", 0), f"{before} -> {ast.unparse(changed)}", ast.unparse(tree)
        put(parent, field, i, child)


def put(parent: ast.AST, field: str, i: int | None, child: ast.AST) -> None:
    if i is None:
        setattr(parent, field, child)
    else:
        getattr(parent, field)[i] = child


def chosen(trusted: Trusted, only: str | None, *, fenced: bool, learners: bool = False) -> list[str]:
    """The files to change."""
    if only is not None:
        return only.split(",")
    if learners:
        return [*(one.file for one in trusted.read if one.learners), *OF_LEARNERS]
    return trusted.trusted() if fenced else [one.file for one in trusted.read]


def is_read(trusted: Trusted, file: str, line: int) -> bool:
    """Of a file that is read in parts, is this line in one of them?"""
    parts = [part for one in trusted.read if one.file == file for part in one.parts]
    found = spans(trusted.text(file))
    return not parts or any(found[part][0] <= line <= found[part][1] for part in parts)


def sampled(files: list[str], size: int | None, *, whole: bool) -> dict[str, list[Mutant]]:
    """The mutants of each file: all, or some of all files together, the same whenever it is asked."""
    every = [
        (file, mutant)
        for file in files
        for mutant in mutants(ROOT / "src" / "privet" / file)
        if whole or is_read(TRUSTED, file, mutant[0])
    ]
    if size is not None:
        every = [every[place] for place in sorted(random.Random(SEED).sample(range(len(every)), size))]
    return {file: [mutant for name, mutant in every if name == file] for file in dict.fromkeys(one for one, _ in every)}


def trial(file: str, text: str, seconds: int) -> tuple[bool, float]:
    """(noticed, processor seconds) of the file's tests on a copy of the package in which `file` has this text."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src" / "privet", Path(folder) / "privet")
        (Path(folder) / "privet" / file).write_text(text)
        child = os.fork()
        if child == 0:
            run_tests(folder, [str(TRUSTED.test_files[f"test_{name}.py"]) for name in TRUSTED.tests_of(file)], seconds)
        deadline = time.monotonic() + 20 * seconds  # for those that sleep; the processor limit ends the others
        while time.monotonic() < deadline:
            done, status, usage = os.wait4(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status) != 0, usage.ru_utime + usage.ru_stime
            time.sleep(0.05)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return True, seconds


def run_tests(folder: str, tests: list[str], seconds: int) -> None:
    """In the child: never returns."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    os.environ["PYTHONPATH"] = folder
    sys.path.insert(0, folder)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        import pytest  # noqa: PLC0415

        os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), *tests])))


def preload() -> None:
    """Import what every mutant needs, so that a fork starts at once. Never privet itself."""
    import mpmath  # noqa: F401, PLC0415
    import scipy.special  # noqa: PLC0415
    import scipy.stats  # noqa: F401, PLC0415

    assert "privet" not in sys.modules


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--only", help="one file or several, for example noise/fast.py,core/laws.py")
    parser.add_argument("--fenced", action="store_true", help="also what is tested or checked, and not read")
    parser.add_argument("--learners", action="store_true", help="what is read and tested for learners")
    parser.add_argument("--sample", type=int, help="take so many mutants of all files together, at random")
    asked = parse(parser, given, only="core/rational.py", sample=1)
    if not asked.tiny:  # of two forks only, whose tests do without
        preload()
    evidence, results = Evidence(asked, "mutation"), []
    files = chosen(TRUSTED, asked.only, fenced=asked.fenced, learners=asked.learners)
    for file, jobs in sampled(files, asked.sample, whole=bool(asked.fenced or asked.only)).items():
        failed, needed = trial(file, (ROOT / "src" / "privet" / file).read_text(), 600)
        assert not failed, f"tests of {file} fail unchanged"
        limit = math.ceil(PATIENCE * needed + 3)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            verdicts = list(pool.map(lambda job, file=file, limit=limit: trial(file, job[2], limit)[0], jobs))
        alive = [f"{file}:{line}  {what}" for (line, what, _), caught in zip(jobs, verdicts, strict=True) if not caught]
        results.append({"file": file, "mutants": len(jobs), "noticed": sum(verdicts), "survivors": alive})
        print(f"{file}: {sum(verdicts)} of {len(jobs)} noticed", *alive, sep="\n  ", flush=True)
    evidence.save(
        {
            "sample": asked.sample,
            "mutants": sum(r["mutants"] for r in results),
            "noticed": sum(r["noticed"] for r in results),
            "files": results,
        }
    )


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
