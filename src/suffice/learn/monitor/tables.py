"""Tables of the monitor. A test compares them with the migrations."""

from __future__ import annotations

from suffice.record.suspension import METADATA, MONITOR
from suffice.sql.toolkit import BigInteger, Column, Double, Table, Text

__all__ = ["JOBS", "METADATA", "MONITOR"]

JOBS = Table(
    "monitor_jobs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("record", Text, nullable=False),
    Column("due", Double, nullable=False),
    Column("attempts", BigInteger, nullable=False),
    Column("problem", Text, nullable=False),
)
