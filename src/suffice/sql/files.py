"""File locks, and translation of file system errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from suffice.errors import StoreBusy, StoreFull


@contextmanager
def locked(file: Path, wait: float, where: str) -> Iterator[None]:
    """Hold a file lock; raise `StoreBusy` if it is not available within `wait` seconds. The
    operating system releases the lock when the process dies."""
    from filelock import FileLock, Timeout

    lock = FileLock(file, mode=0o600)
    with translated(where):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=wait)
        except Timeout:
            raise busy(where, wait) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Translate file system errors into errors with a remedy."""
    try:
        yield
    except OSError as problem:
        raise unwritable(where, problem.strerror or str(problem)) from problem


def busy(where: str, wait: float) -> StoreBusy:
    return StoreBusy(
        f"Another process is writing to {where} (waited {wait:g} s).",
        remedy="Wait for it to finish, or increase `store_wait_seconds` in the settings. "
        "Searches need no lock.",
    )


def unwritable(where: str, why: str) -> StoreFull:
    return StoreFull(
        f"Cannot write to {where}: {why}.",
        remedy="Free some space or check the permissions, then run the command again. Committed "
        "data is not affected.",
    )
