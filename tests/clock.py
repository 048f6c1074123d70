"""The day on which the tests run: always the same, unless SUFFICE_TEST_DAY names another."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, tzinfo

from suffice.evidence import index

DAY = date.fromisoformat(os.environ.get("SUFFICE_TEST_DAY", "2026-11-16"))


class _Frozen(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> _Frozen:
        return cls(DAY.year, DAY.month, DAY.day, 12, tzinfo=tz or UTC)


def freeze() -> None:
    """Documents are in force or not by this day."""
    index.datetime = _Frozen  # type: ignore[attr-defined]
