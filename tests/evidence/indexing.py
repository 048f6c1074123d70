"""What a process of its own does in a test: index a folder, up to a point."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from suffice.evidence.library import Library
from suffice.evidence.store import Store
from suffice.settings import Settings
from tests.fakes import HashEmbedder

_WAIT = 300.0


def opened(store: str) -> Library:
    settings = Settings(store_wait_seconds=_WAIT)
    return Library(Store.open(store, create=True, wait=_WAIT), HashEmbedder(), settings)


def index(docs: Path, store: str, kill_at: str = "") -> None:
    """`kill_at` is the step of the progress at which the process is killed: "documents 40"."""

    def progress(what: str, done: int, total: int) -> None:
        if f"{what} {done}" == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    opened(store).add(docs, progress=progress)
