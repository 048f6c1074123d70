"""The tables of the documents, as created by the migrations in `sql/`; a test compares the two."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, Table, Text

METADATA = MetaData()


def _number(name: str, *, null: bool = False, key: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=null, primary_key=key)


def _text(name: str, *, null: bool = False) -> Column[str]:
    return Column(name, Text, nullable=null)


store = Table("store", METADATA, _text("id"), _number("epoch"))

documents = Table(
    "documents",
    METADATA,
    _number("id", key=True),
    _text("collection"),
    _text("name"),
    _text("root"),
    _text("stamp"),
    _text("retired_on", null=True),
    _text("retired_by", null=True),
)

versions = Table(
    "versions",
    METADATA,
    _number("id", key=True),
    _number("document_id"),
    _text("key"),
    _text("label"),
    _text("title"),
    _text("kind"),
    _text("access"),
    _text("effective", null=True),
    _text("expires", null=True),
    _text("family"),
    _text("text"),
    _text("content_hash"),
    _text("file_date"),
    _text("seen"),
    _number("sequence"),
    _text("force_from"),
    _text("force_until"),
    _number("changed"),
    _text("kinds_by"),
)

passages = Table(
    "passages",
    METADATA,
    _number("id", key=True),
    _text("name"),
    _number("version_id"),
    _number("start"),
    _number("end"),
    _text("heading"),
    _number("page", null=True),
    _text("text"),
    _text("content_hash"),
    _text("input_hash"),
    _text("kind"),
)

vectors = Table(
    "vectors",
    METADATA,
    _number("rowid"),  # autoincrement; SQLite tables have it implicitly
    _text("input_hash"),
    _text("model"),
    Column("vector", LargeBinary, nullable=False),
)
