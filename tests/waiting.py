"""Waiting for what another thread or process brings about, with a long limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
"""Seconds a test waits for an expected event: long enough for a busy machine."""


def until(true: Callable[[], Any], patience: float = PATIENCE) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
