"""Files beside a database: a lock that is one, and their errors in our own words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from suffice.errors import StoreBusy, StoreFull


@contextmanager
def locked(file: Path, wait: float, where: str) -> Iterator[None]:
    """Holds a file's lock; who cannot have it within `wait` seconds is told what is written to.
    The system frees it when a process dies."""
    from filelock import FileLock, Timeout

    lock = FileLock(file)
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
    """The file system's errors as ours, with their remedy."""
    try:
        yield
    except OSError as problem:
        raise unwritable(where, problem.strerror or str(problem)) from problem


def busy(where: str, wait: float) -> StoreBusy:
    return StoreBusy(
        f"Another process is writing to {where} (waited {wait:g} s).",
        remedy="Wait for it to finish, or raise `wait` in the settings. Searching needs no lock.",
    )


def unwritable(where: str, why: str) -> StoreFull:
    return StoreFull(
        f"{where} cannot be written: {why}.",
        remedy="Free some space or check the rights, then run the same command again; "
        "nothing committed is lost.",
    )
