"""Tables of the log, its index, the principals and their usage. A test compares them with the
migrations."""

from __future__ import annotations

from suffice.sql import sa
from suffice.sql.columns import number, real, text

_METADATA = sa.MetaData()

RECORDS = sa.Table(
    "records",
    _METADATA,
    number("sequence", key=True),
    text("id", unique=True),
    text("time"),
    text("clock"),
    text("kind"),
    text("caller", null=True),
    text("tag", null=True),
    text("root"),
    text("seal"),
    text("link"),
    text("manifest", null=True),
    text("payload"),
)

HEAD = sa.Table(
    "record_head",
    _METADATA,
    number("id", key=True),
    text("log"),
    number("sequence"),
    text("link"),
    text("time"),
)

FOLLOWERS = sa.Table(
    "followers",
    _METADATA,
    text("name", key=True),
    number("sequence"),
    text("state"),
)

CHECKPOINTS = sa.Table(
    "checkpoints",
    _METADATA,
    number("id", key=True, generated=True),
    text("log"),
    number("sequence"),
    text("body"),
)

PRINCIPALS = sa.Table(
    "principals",
    _METADATA,
    text("id", key=True),
    text("kind"),
    text("name"),
    text("hash"),
    text("roles"),
    text("labels"),
    text("collections"),
    text("routes"),
    text("limits"),
    text("created"),
    text("revoked", null=True),
    text("expires", null=True),
    text("team", null=True),
)

TEAMS = sa.Table(
    "teams",
    _METADATA,
    text("name", key=True),
    text("limits"),
    text("created"),
)

SESSIONS = sa.Table(
    "sessions",
    _METADATA,
    text("hash", key=True),
    text("principal"),
    text("created"),
    text("seen"),
    text("expires"),
)

SIGN_IN_FAILURES = sa.Table(
    "sign_in_failures",
    _METADATA,
    text("subject", key=True),
    number("failures"),
    real("last"),
)

USAGE = sa.Table(
    "usage",
    _METADATA,
    text("principal", key=True),
    number("width", key=True),
    number("bucket", key=True),
    number("requests"),
    number("tokens"),
    real("cost"),
)

USAGE_TOTALS = sa.Table(
    "usage_totals",
    _METADATA,
    text("day", key=True),
    text("caller", key=True),
    text("team", key=True),
    text("end_user", key=True),
    text("model", key=True),
    number("requests"),
    number("errors"),
    number("tokens_in"),
    number("tokens_out"),
    real("cost"),
    number("serve"),
    number("caveat"),
    number("conflict"),
    number("withhold"),
    number("review"),
)

SCOPES = sa.Table("decision_scopes", _METADATA, number("id", key=True), text("body"))

DECISIONS = sa.Table(
    "decisions",
    _METADATA,
    number("sequence", key=True),
    text("id"),
    text("time"),
    text("action"),
    text("level"),
    text("caller", null=True),
    number("scope"),
    text("question"),
    text("released"),
    real("confidence", null=True),
    real("seconds", null=True),
)

SOURCES = sa.Table(
    "decision_sources",
    _METADATA,
    number("id", key=True),
    text("collection"),
    text("document"),
    text("version"),
    text("access"),
    number("used"),
    number("cited"),
    text("last_used"),
    text("last_cited"),
)

USES = sa.Table(
    "decision_uses",
    _METADATA,
    number("source", key=True),
    number("sequence", key=True),
    number("cited"),
)

TALLIES = sa.Table(
    "decision_tallies",
    _METADATA,
    number("width", key=True),
    text("bucket", key=True),
    number("scope", key=True),
    text("name", key=True),
    number("count"),
    real("total"),
)

INDEX_TABLES = (SCOPES, DECISIONS, SOURCES, USES, TALLIES)
"""The index of decisions, which is derived from the records."""
