"""From a steward's own file to a private answer in six commands, run as a person would run them."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

WARDS = ("Chirurgie", "Innere Medizin", "Säuglinge", "Neurologie")


@dataclass
class Steward:
    """A folder, a file as hospitals have it, and what is true of it."""

    folder: Path
    visits: Counter[str]
    height: float

    def privet(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Another process each time, on a terminal that knows nothing but ASCII."""
        return subprocess.run(
            [sys.executable, "-m", "privet", *words],
            capture_output=True,
            cwd=self.folder,
            encoding="utf-8",
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
            check=False,
        )

    def done(self, *words: str) -> str:
        """The same for what must succeed without a complaint."""
        ran = self.privet(*words)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout


@pytest.fixture(scope="module")
def steward(tmp_path_factory: pytest.TempPathFactory) -> Steward:
    """cp1252, semicolons, decimal commas, points between thousands, codes for "missing", leading zeros, CRLF."""
    chance = random.Random(1)
    folder = tmp_path_factory.mktemp("steward")
    lines = ["Patienten-Nr;Größe (cm);Kosten;Station;Aufnahme;PLZ"]
    visits: Counter[str] = Counter()
    heights = []
    for number in range(6000):
        height, ward = chance.gauss(170, 10), chance.choice(WARDS)
        visits[ward] += 1
        heights.append(round(height, 1))
        cost = f"{chance.uniform(10, 3000):,.2f}".translate(str.maketrans(",.", ".,"))
        fields = [
            f"{number // 2:06}",
            "-9" if number % 50 == 0 else f"{height:.1f}".replace(".", ","),
            "k.A." if number % 40 == 0 else cost,
            ward,
            f"{chance.randint(1, 28):02}.{chance.randint(1, 12):02}.{chance.randint(2020, 2025)}",
            f"{chance.randint(1000, 9999):05}",
        ]
        lines.append(";".join(fields))
    (folder / "Besuche 2025.csv").write_bytes(("\r\n".join(lines) + "\r\n").encode("cp1252"))
    return Steward(folder, visits, sum(heights) / len(heights))


def test_six_commands(steward: Steward) -> None:
    sql = 'SELECT Station, COUNT(*) AS n, AVG("Größe (cm)") AS cm, AVG(Kosten) AS eur FROM visits GROUP BY Station'
    file, draft = "Besuche 2025.csv", "visits.toml"
    steward.done("init", "clinic.privet", "--epsilon", "4", "--delta", "1e-9")
    steward.done("describe", file, "--name", "visits", "--out", draft)
    _edit(steward.folder / draft)
    declared = steward.done("add", "clinic.privet", file, "--columns", draft)
    told = steward.done("explain", "clinic.privet", sql, "--epsilon", "2")
    shown = steward.done("query", "clinic.privet", sql, "--epsilon", "2")
    left = steward.done("budget", "clinic.privet")

    assert 'encoding = "cp1252"' in declared
    assert "The table protects each Patienten-Nr, with all its rows." in declared
    assert "5 groups by Station" in told
    assert "About 2 more like this fit." in told
    assert "S?uglinge" in shown
    assert "+/-" in shown
    assert "epsilon 2 of 4 spent, 2 left" in left
    _check_numbers(steward, sql)


def _edit(path: Path) -> None:
    """What a steward does in an editor: ranges that anybody knows, codes, and a column that nobody asks about."""
    lines = path.read_text(encoding="utf-8").splitlines()
    new = {
        '"Größe (cm)"': '"Größe (cm)" = {kind = "number", low = 140, high = 210, step = 0.1, missing = ["-9"]}',
        "Kosten": 'Kosten = {kind = "number", low = 0, high = 3000, step = 0.01, missing = ["k.A."]}',
        "PLZ": "",
        "max_rows": "max_groups = 2\nmax_rows_per_group = 2",
    }
    edited = [new.get(line.partition(" = ")[0], line) for line in lines]
    assert len(set(lines) - set(edited)) == len(new)
    path.write_text("\n".join(edited) + "\n", encoding="utf-8")


def _check_numbers(steward: Steward, sql: str) -> None:
    """The stored answer, free: near the truth. False alarm: 9 * 1e-9 (each number within ten half widths)."""
    told = json.loads(steward.done("query", "clinic.privet", sql, "--epsilon", "2", "--json"))["result"]
    assert told["replayed"] is True
    rows = {row["Station"]: row for row in told["rows"]}
    assert set(rows) == {*WARDS, None}
    for ward in WARDS:
        count, mean = rows[ward]["n"], rows[ward]["cm"]
        assert abs(count["value"] - steward.visits[ward]) <= 10 * (count["high"] - count["value"])
        assert abs(mean["value"] - steward.height) <= 10 * (mean["high"] - mean["low"])
        assert 1000 < rows[ward]["eur"]["value"] < 2000  # not 1.5: the points stand between thousands


def test_the_budget_stops_the_next_process(steward: Steward) -> None:
    sql = "SELECT COUNT(*) AS n FROM visits"
    steward.done("query", "clinic.privet", sql, "--epsilon", "2")
    refused = steward.privet("query", "clinic.privet", sql, "--epsilon", "1")
    assert refused.returncode == 3
    assert refused.stdout == ""
    assert "epsilon 1; " in refused.stderr
    assert "entries are consistent" in steward.done("ledger", "clinic.privet", "verify")
