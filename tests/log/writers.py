"""Processes that append to one log until they are killed: `writers.py PLACE COUNT`.

Each prints the id of a record once it is acknowledged. They are forked, so that what they import
is read once; each opens the log itself.
"""

from __future__ import annotations

import os
import sys
import threading

from suffice.log.log import Log
from suffice.log.record import Record

THREADS = 4


def work(place: str, number: int) -> None:
    log = Log.open(place)

    def append() -> None:
        while True:
            record = Record("note", {"question": "x" * 2_000, "outcome": number}, f"c{number}")
            log.append(record)
            os.write(1, f"{record.id}\n".encode())

    threads = [threading.Thread(target=append) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    place, count = sys.argv[1], int(sys.argv[2])
    for number in range(count):
        child = os.fork()
        if not child:
            try:
                work(place, number)
            finally:
                os._exit(1)  # it only ever ends when something is wrong
        os.write(1, f"pid {child}\n".encode())
    for _ in range(count):
        os.wait()
