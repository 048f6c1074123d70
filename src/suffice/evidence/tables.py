"""The document tables, as created by the migrations in `sql/`. A test compares the two."""

from __future__ import annotations

from suffice.sql import sa
from suffice.sql.columns import number, text

METADATA = sa.MetaData()


store = sa.Table("store", METADATA, text("id"), number("epoch"), number("force_rule"))

documents = sa.Table(
    "documents",
    METADATA,
    number("id", key=True, generated=True),
    text("collection"),
    text("name"),
    text("root"),
    text("stamp"),
    text("retired_on", null=True),
    text("retired_by", null=True),
    text("access"),
)

versions = sa.Table(
    "versions",
    METADATA,
    number("id", key=True, generated=True),
    number("document_id"),
    text("key"),
    text("label"),
    text("title"),
    text("kind"),
    text("effective", null=True),
    text("expires", null=True),
    text("family"),
    text("text"),
    text("content_hash"),
    text("file_date"),
    text("seen"),
    number("sequence"),
    text("force_from"),
    text("force_until"),
    number("changed"),
)

passages = sa.Table(
    "passages",
    METADATA,
    number("id", key=True, generated=True),
    text("name"),
    number("version_id"),
    number("start"),
    number("end"),
    text("heading"),
    number("page", null=True),
    text("text"),
    text("content_hash"),
    text("input_hash"),
)

vectors = sa.Table(
    "vectors",
    METADATA,
    number("rowid"),  # autoincrement; implicit in SQLite
    text("input_hash"),
    text("model"),
    sa.Column("vector", sa.LargeBinary, nullable=False),
)
