"""Tables with suppressed cells for which `privet preflight` was once green: each test fails on that code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privet import cli

CROSS = """
format = 1
kind = "tables"
suppressed = [{marks = ["c"], below = 3}, {marks = ["x"]}]
[attributes]
ward = ["A", "B", "C"]
ill = ["p", "q", "r"]
[[tables]]
sheet = "T"
rows = ["ward"]
columns = "ill"
value = "count"
"""
KINDS = ', kind = "primary"}', ', kind = "complementary"}'


def book(folder: Path, second: str, marks: tuple[str, str] = ("}", "}")) -> str:
    """Wards by illness with totals, hidden cells marked: c by the rule below 3, x to protect others."""
    (folder / "book").mkdir()
    mapping = CROSS.replace("below = 3}", f"below = 3{marks[0]}").replace('["x"]}', f'["x"]{marks[1]}')
    (folder / "book.toml").write_text(mapping)
    rows = ("ward,p,q,r,Total", "A,c,x,9,16", second, "C,14,8,10,32", "Total,21,34,30,85")
    (folder / "book" / "T.csv").write_text("\n".join(rows))
    return str(folder / "book")


def test_cells_that_protect_others_are_audited_with_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two hidden cells in each of two rows and columns protect each other."""
    assert cli.main(["preflight", book(tmp_path, "B,x,x,11,37")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "none of 4 suppressed or rounded counts is undone" in text


ONE_WAY = """
format = 1
kind = "tables"
suppressed = {marks = ["c"], below = 3}
[attributes]
ward = ["A", "B", "C"]
ill = ["p", "q"]
[[tables]]
sheet = "T"
rows = ["ward"]
values = {All = "count"}
[[tables]]
sheet = "U"
rows = ["ill"]
values = {All = "count"}
"""


def test_preflight_is_red_where_a_suppression_is_undone_though_nobody_is_certain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ward B has 51 - 24 - 25 people. Which illness they have is open."""
    (tmp_path / "book").mkdir()
    (tmp_path / "book.toml").write_text(ONE_WAY)
    (tmp_path / "book" / "T.csv").write_text("ward,All\nA,24\nB,c\nC,25\nTotal,51")
    (tmp_path / "book" / "U.csv").write_text("ill,All\np,25\nq,26\nTotal,51")
    code = cli.main(["preflight", str(tmp_path / "book")])
    assert (code, capsys.readouterr().out.splitlines()[0]) == (1, "1 of 1 suppressed cell is undone")


def test_undone_complementary_cells_are_listed_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the cell of 1 falls under the rule; those of 6 and 20 do not."""
    path = book(tmp_path, "B,6,x,11,37", KINDS)
    assert cli.main(["preflight", path, "--json"]) == 1
    result = json.loads(capsys.readouterr().out)["result"]
    assert (result["undone"], result["undone_complementary"]) == (1, 2)
    assert {cell["cell"]: cell["low"] for cell in result["cells"]} == {
        "T B2 (ward A, ill p)": 1, "T C2 (ward A, ill q)": 6, "T C3 (ward B, ill q)": 20,
    }  # fmt: skip
