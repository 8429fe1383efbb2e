"""The rules of time zones: how far clocks were ahead of UTC, and when that changed."""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache
from zoneinfo import ZoneInfo

from privet.core import calendar
from privet.core.rational import show
from privet.errors import RefusedQueryError

FIRST, LAST = dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
STRIDE = dt.timedelta(days=2)  # the closest two changes of any zone are nearly four days apart
SECOND = dt.timedelta(seconds=1)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,30}(/[A-Za-z0-9_+-]{1,30}){0,3}", re.ASCII)

Changes = tuple[tuple[int, int], ...]


@lru_cache(maxsize=64)
def rules_of(name: str) -> tuple[int, Changes]:
    """(ahead at first, changes) in microseconds, from 1900 to 2100; before and after it stays as it is then."""
    zone = _zone(name)
    time, ahead = FIRST, _ahead(zone, FIRST)
    first, changes = _microseconds(ahead), []
    while time < LAST:
        following = time + STRIDE
        if _ahead(zone, following) != ahead:
            place = _first_change(zone, time, following)
            ahead = _ahead(zone, place)
            changes.append((calendar.microseconds(place.replace(tzinfo=None)), _microseconds(ahead)))
        time = following
    return first, tuple(changes)


def _zone(name: str) -> ZoneInfo:
    try:
        if _NAME.fullmatch(name):
            return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        pass
    raise RefusedQueryError(
        f"there is no time zone {show(name)}", "write such as 'Europe/Berlin' or 'UTC'", "unknown-choice"
    )


def _ahead(zone: ZoneInfo, time: dt.datetime) -> dt.timedelta:
    return time.astimezone(zone).utcoffset() or dt.timedelta()


def _microseconds(span: dt.timedelta) -> int:
    return span // dt.timedelta(microseconds=1)


def _first_change(zone: ZoneInfo, before: dt.datetime, after: dt.datetime) -> dt.datetime:
    """The first second with another number than at `before`. Zones change at whole seconds."""
    ahead = _ahead(zone, before)
    while after - before > SECOND:
        middle = before + (after - before) // 2 // SECOND * SECOND
        before, after = (middle, after) if _ahead(zone, middle) == ahead else (before, middle)
    return after
