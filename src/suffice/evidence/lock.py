"""One writer a store. A second one waits, then says who is in the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from suffice.errors import StoreBusy
from suffice.evidence.database import translated


@contextmanager
def writing(store: Path, wait: float) -> Iterator[None]:
    """Holds the writer's lock of a store. The system frees it when a process dies."""
    from filelock import FileLock, Timeout

    with translated(store):
        store.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{store}.lock")
        try:
            lock.acquire(timeout=wait)
        except Timeout:
            raise StoreBusy(
                f"Another process is writing to {store} (waited {wait:g} s).",
                remedy="Wait for it to finish, or raise `wait` in the settings. "
                "Searching needs no lock.",
            ) from None
    try:
        yield
    finally:
        lock.release()
