"""The day on which the tests run: always the same, unless PYTEST_SUFFICE_DAY names another."""

from __future__ import annotations

import os
import sys
from datetime import UTC, date, datetime, tzinfo

import pytest

from suffice.evidence import index

DAY = date.fromisoformat(os.environ.get("PYTEST_SUFFICE_DAY", "2026-11-16"))
ANOTHER = date(2027, 6, 1)


class _Frozen(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> _Frozen:
        return cls(DAY.year, DAY.month, DAY.day, 12, tzinfo=tz or UTC)


def freeze() -> None:
    """Documents are in force or not by this day."""
    index.datetime = _Frozen  # type: ignore[attr-defined]


@pytest.fixture(params=[DAY, ANOTHER], ids=str)
def any_day(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> date:
    """A test that depends on what is in force passes on this day and in another year."""
    monkeypatch.setattr(sys.modules[__name__], "DAY", request.param)
    day: date = request.param
    return day
