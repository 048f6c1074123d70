"""The webhook tables. A test compares them with the migrations."""

from __future__ import annotations

from suffice.sql.columns import number, real, text
from suffice.sql.toolkit import MetaData, Table

_METADATA = MetaData()

WEBHOOKS = Table(
    "webhooks",
    _METADATA,
    text("name", key=True),
    number("sequence"),
)

DELIVERIES = Table(
    "deliveries",
    _METADATA,
    text("id", key=True),
    text("webhook"),
    text("event"),
    text("record"),
    text("state"),
    number("attempts"),
    real("due"),
    text("created"),
    text("problem"),
)
