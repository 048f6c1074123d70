"""What a process of its own does in a test: open a database at the same moment as others."""

from __future__ import annotations

from multiprocessing.synchronize import Barrier

from suffice.sql.database import Database
from tests.processes import PATIENCE


def open_together(place: str, together: Barrier) -> None:
    together.wait(PATIENCE)
    Database.open(place, create=True, wait=PATIENCE).close()
