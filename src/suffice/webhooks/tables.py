"""Tables of the webhooks. A test compares them with the migrations."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, MetaData, Table, Text

_METADATA = MetaData()

WEBHOOKS = Table(
    "webhooks",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("sequence", BigInteger, nullable=False),
)

DELIVERIES = Table(
    "deliveries",
    _METADATA,
    Column("id", Text, primary_key=True),
    Column("webhook", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("record", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", BigInteger, nullable=False),
    Column("due", Double, nullable=False),
    Column("created", Text, nullable=False),
    Column("problem", Text, nullable=False),
)
