"""The number of threads a model runs on."""

from __future__ import annotations

import os

_MOST = 4


def bounded(threads: int) -> int:
    """The given number of threads. For 0, one per core, at most four."""
    return threads or min(_MOST, os.cpu_count() or 1)
