"""`kill -9` under load: acknowledged records are stored and the chain is intact."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from suffice.log.log import Log
from tests.log import examples as some
from tests.waiting import until

HERE = Path(__file__).parent
WRITERS = 8


def test_writers_killed_at_random_lose_nothing_that_was_acknowledged(place: str) -> None:
    log = Log.open(place, create=True)
    running = subprocess.Popen(
        [sys.executable, str(HERE / "writers.py"), place, str(WRITERS)],
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")},
        stdout=subprocess.PIPE,
        text=True,
    )
    pids: list[int] = []
    acknowledged: list[str] = []

    def listen() -> None:
        assert running.stdout is not None
        for line in running.stdout:
            words = line.split()
            if words[0] == "pid":
                pids.append(int(words[1]))
            else:
                acknowledged.append(words[0])

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        until(lambda: len(pids) == WRITERS and len(acknowledged) >= 200, patience=300)
        for left, pid in reversed(list(enumerate(random.sample(pids, WRITERS)))):
            more = len(acknowledged) + random.randrange(10)
            os.kill(pid, signal.SIGKILL)
            until(lambda: not left or len(acknowledged) >= more)  # noqa: B023
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    listener.join(120)
    running.wait(120)
    assert len(acknowledged) >= 200
    log.append(some.note())  # the log goes on
    found = log.verify(deep=True)
    assert found.whole, found.faults
    kept = {entry.id for entry in log.entries()}
    assert kept >= set(acknowledged)
    callers = {entry.caller for entry in log.entries()}
    assert len(callers) > 1, "only one of the writers ever wrote"
    log.close()
    log.database.close()
