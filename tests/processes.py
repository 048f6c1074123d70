"""Processes of a test's own: what they share is imported once and forked from there."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from typing import Any

PATIENCE = 300.0
"""Seconds a test waits for a process: long enough for a busy machine."""

FORKS = get_context("forkserver")
"""Where barriers and queues come from that the processes share."""
FORKS.set_forkserver_preload(["suffice.evidence.library", "suffice.evidence.edge"])


def started(work: Callable[..., None], *args: Any) -> ForkServerProcess:
    """A process that calls a function of a module."""
    process = FORKS.Process(target=work, args=args, daemon=True)
    process.start()
    return process


def ended(process: ForkServerProcess) -> int:
    """Its exit code, as soon as it has ended."""
    process.join(PATIENCE)
    assert process.exitcode is not None, "it goes on and on"
    return process.exitcode
