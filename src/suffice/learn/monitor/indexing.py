"""Keeps the index of decisions up to date in a gateway: pages that need it read a few records, and
the rest are read in the background."""

from __future__ import annotations

import logging
import threading
import time

from suffice.errors import StoreError
from suffice.record.index import DecisionIndex

_LOG = logging.getLogger("suffice.monitor")
_PAUSE = 1.0
"""Seconds between updates for pages."""


class Indexing:
    """Updates the index until it is closed. Thread-safe."""

    def __init__(self, index: DecisionIndex, pause: float = _PAUSE) -> None:
        self.index = index
        self._pause = pause
        self._lock = threading.Lock()
        self._last = float("-inf")
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def refresh(self) -> int:
        """Read some new records, unless another thread does. Return how many are left; these are
        read in the background. If that fails, the page shows what is indexed."""
        if self._lock.acquire(blocking=False):
            try:
                if time.monotonic() - self._last >= self._pause:
                    self._last = time.monotonic()
                    if self.index.update():
                        self._start()
            except Exception as problem:  # the page must not fail with it
                _report(problem)
            finally:
                self._lock.release()
        return self.index.behind()

    def catch_up_within(self, seconds: float) -> int:
        """Read all records there are now, for some seconds at most. Return how many are left; 0
        means that none was left when this ended, even if others have been written since."""
        end = time.monotonic() + seconds
        try:
            while self.index.update():
                if time.monotonic() >= end:
                    self._start()
                    return self.index.behind()
        except Exception as problem:  # the caller says that something is missing
            _report(problem)
            return max(self.index.behind(), 1)
        return 0

    def catch_up(self) -> None:
        """Read all records that have not been read yet."""
        while not self._closed.is_set() and self.index.update():
            pass

    def close(self) -> None:
        self._closed.set()

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="index", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self.catch_up()
        except Exception as problem:  # the next page tries again
            _report(problem)


def _report(problem: Exception) -> None:
    if isinstance(problem, StoreError):
        _LOG.warning("Index of decisions: %s", problem)
    else:
        _LOG.error("Index of decisions: unexpected error.", exc_info=problem)
