"""Tables of the review queue; migration 0010 creates them. They are derived from the log."""

from __future__ import annotations

from suffice.sql.columns import number, text
from suffice.sql.toolkit import MetaData, Table

_METADATA = MetaData()

CASES = Table(
    "review_cases",
    _METADATA,
    text("record", key=True),
    number("sequence"),
    number("waiting"),
    text("state"),
    number("priority"),
    text("why"),
    text("assignee"),
    number("scope"),
)

PLACE = Table(
    "review_place",
    _METADATA,
    number("id", key=True),
    number("sequence"),
)
