"""Tables of the monitor. A test compares them with the migrations."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, MetaData, Table, Text

METADATA = MetaData()

MONITOR = Table(
    "monitor",
    METADATA,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
)

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
