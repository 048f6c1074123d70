"""A log of its own for each test, and the clock that it is written by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from suffice.log.log import Log
from tests.lab.monitor.stream import MovingClock, open_log


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture
def log(tmp_path: Path, clock: MovingClock) -> Iterator[Log]:
    opened = open_log(tmp_path / "s.db", clock)
    yield opened
    opened.close()
    opened.database.close()
