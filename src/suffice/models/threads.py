"""How many threads a model runs on."""

from __future__ import annotations

import os

_MOST = 4


def bounded(threads: int) -> int:
    """As many as are asked for; 0 takes the cores there are, at most four."""
    return threads or min(_MOST, os.cpu_count() or 1)
