"""Tables of the log, the principals and their usage. A test compares them with the migrations."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, MetaData, Table, Text

_METADATA = MetaData()

RECORDS = Table(
    "records",
    _METADATA,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("time", Text, nullable=False),
    Column("clock", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("caller", Text),
    Column("tag", Text),
    Column("root", Text, nullable=False),
    Column("seal", Text, nullable=False),
    Column("link", Text, nullable=False),
    Column("manifest", Text),
    Column("payload", Text, nullable=False),
)

HEAD = Table(
    "record_head",
    _METADATA,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("log", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("link", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("checkpoint", BigInteger, nullable=False),
    Column("checkpoint_time", Text, nullable=False),
)

CHECKPOINTS = Table(
    "checkpoints",
    _METADATA,
    Column("id", BigInteger, primary_key=True),
    Column("log", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
)

PRINCIPALS = Table(
    "principals",
    _METADATA,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("roles", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("collections", Text, nullable=False),
    Column("routes", Text, nullable=False),
    Column("limits", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("revoked", Text),
    Column("expires", Text),
    Column("team", Text),
)

TEAMS = Table(
    "teams",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("limits", Text, nullable=False),
    Column("created", Text, nullable=False),
)

USAGE = Table(
    "usage",
    _METADATA,
    Column("principal", Text, primary_key=True),
    Column("width", BigInteger, primary_key=True, autoincrement=False),
    Column("bucket", BigInteger, primary_key=True, autoincrement=False),
    Column("requests", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cost", Double, nullable=False),
)

USAGE_TOTALS = Table(
    "usage_totals",
    _METADATA,
    Column("day", Text, primary_key=True),
    Column("caller", Text, primary_key=True),
    Column("team", Text, primary_key=True),
    Column("end_user", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("requests", BigInteger, nullable=False),
    Column("errors", BigInteger, nullable=False),
    Column("tokens_in", BigInteger, nullable=False),
    Column("tokens_out", BigInteger, nullable=False),
    Column("cost", Double, nullable=False),
    Column("serve", BigInteger, nullable=False),
    Column("caveat", BigInteger, nullable=False),
    Column("conflict", BigInteger, nullable=False),
    Column("withhold", BigInteger, nullable=False),
    Column("review", BigInteger, nullable=False),
)
