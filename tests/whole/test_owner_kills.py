"""An owner's process that is killed in the middle leaves nothing that was told and is not there, and nothing stuck."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.owner_workers import JOBS, kill_many

KILLS = 4  # benchmarks/owner_kills.py has the long run


@pytest.mark.proof
@pytest.mark.parametrize("name", JOBS)
def test_what_an_owner_was_told_is_there_after_a_kill(tmp_path: Path, name: str) -> None:
    tally = kill_many(name, tmp_path, KILLS)
    assert (tally.missing, tally.stuck) == (0, 0)
    assert tally.told >= KILLS
