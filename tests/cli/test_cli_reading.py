"""A police file as it is downloaded: drafted, declared and asked about without a value that is silently missing."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path

import pytest
from support.refusals import expect_code, failed

from privet import cli
from privet.core.accountant import Budget
from privet.testing import exact
from privet.vault import create
from privet.vault import open as open_vault

ROWS = 300
HEAD = "incident,reported,occurred,closed,loss,share,weight,district"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [HEAD]
    for number in range(ROWS):
        time = dt.datetime(2017, 1, 1) + dt.timedelta(hours=7 * number)
        loss = f'"${1000 + number:,}.50"' if number % 10 else ("unknown", "refused")[number % 20 > 0]
        lines.append(
            f"{number},{time:%Y-%m-%dT%H:%M:%SZ},{time:%m/%d/%Y %I:%M %p},{time:%d/%m/%Y},{loss},{number % 100}%,"
            f"{number % 90} kg,{'NESW'[number % 4]}"
        )
    Path("police.csv").write_text("\n".join(lines) + "\n")
    create("v", budget=Budget(10), testing=True).close()


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(list(words)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_the_draft_of_a_raw_file_reads_every_value(capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "describe", "police.csv", "--out", "police.toml")
    assert "times with an offset become UTC" in told
    assert "less than 10% of the values cannot be read and count as missing" in told
    added = run(capsys, "add", "v", "police.csv", "--columns", "police.toml", "--rows-are-units")
    assert re.findall("^note: .*", added, re.MULTILINE) == [
        "note: 'loss': 30 of 300 values cannot be read and count as missing"
    ]
    with open_vault("v") as vault:
        names = ("reported", "occurred", "closed", "loss", "share", "weight")
        counts = ", ".join(f"COUNT({name}) AS {name}" for name in names)
        found = exact(vault.sql(f"SELECT {counts} FROM police", epsilon=1), key=b"k" * 16)
        assert [part.values for part in found.parts] == [(ROWS,), (ROWS,), (ROWS,), (270,), (ROWS,), (ROWS,)]
        total = exact(vault.sql("SELECT SUM(loss) AS s FROM police", epsilon=1), key=b"k" * 16).parts[0]
        assert total.values[0] * total.step == sum(1000.5 + number for number in range(ROWS) if number % 10)
    assert (
        run(capsys, "check", "v", "--fit")
        .splitlines()[-3]
        .startswith("  change 'loss': 10 % of the values cannot be read")
    )
    assert (
        json.loads(run(capsys, "check", "v", "--fit", "--json"))["result"]["police"]["fit"]["columns"][4]["unreadable"]
        == 30
    )
    assert run(capsys, "check", "v") == f"police: can be read\n{re.search('note: .*', added)[0]}\n"  # type: ignore[index]
    updated = json.loads(run(capsys, "update", "v", "police", "--json"))
    assert updated["result"]["unreadable"] == {"loss": {"unreadable": 30, "values": 300}}
    assert "note: 'loss': 30 of 300" in run(capsys, "update", "v", "police")


def test_what_the_draft_knew_is_in_the_remedy_if_it_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "describe", "police.csv", "--out", "police.toml")
    draft = Path("police.toml").read_text()
    Path("police.toml").write_text(draft.replace(', offset = "utc"', ""))
    error = failed(["add", "v", "police.csv", "--columns", "police.toml"], capsys)
    expect_code("unreadable-column: 300 of 300 … 'reported'", error)
    line = re.search("reported = {.*?}", error.remedy)
    assert line is not None
    Path("police.toml").write_text(re.sub("^reported = .*$", line[0], draft, flags=re.MULTILINE))
    as_json = json.loads(run(capsys, "add", "v", "police.csv", "--columns", "police.toml", "--json"))
    assert as_json["result"]["unreadable"] == {"loss": {"unreadable": 30, "values": 300}}
