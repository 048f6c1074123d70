"""Numbered migrations: `0001_documents.sql` is number 1, applied once, in order; gaps are allowed.

A script serves both databases: `{serial}`, `{blob}` and the like stand for what they call
differently. Where the two need other statements, `0004_name.postgresql.sql` stands beside
`0004_name.sqlite.sql`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

from sqlalchemy import Engine

from suffice.errors import StoreNewer
from suffice.sql.backend import Backend, Dialect


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    script: str

    def statements(self, words: Mapping[str, str]) -> Iterator[str]:
        """The statements one by one, in the words of one database."""
        script = self.script
        for word, meaning in words.items():
            script = script.replace(f"{{{word}}}", meaning)
        statement = ""
        for line in script.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                yield statement
                statement = ""


def migrations(dialect: Dialect) -> list[Migration]:
    """All there are for a database, in order."""
    folder = resources.files("suffice.sql") / "migrations"
    found = []
    for entry in folder.iterdir():
        name, *only, ending = entry.name.split(".")
        if ending == "sql" and only in ([], [dialect]):
            found.append(Migration(int(name[:4]), name[5:], entry.read_text(encoding="utf-8")))
    return sorted(found, key=lambda migration: migration.number)


def migrate(backend: Backend, writer: Engine, known: int) -> None:
    """Applies what a database has not seen, each step whole or not at all. Of two processes at
    once, one waits and finds it done."""
    steps = migrations(backend.dialect)
    newest = steps[-1].number
    if known > newest:
        raise StoreNewer(
            f"{backend.where} has schema {known}, this Suffice knows up to {newest}.",
            remedy="Upgrade Suffice, or name another --store.",
        )
    for step in steps:
        if step.number > known:
            _apply(backend, writer, step)


def _apply(backend: Backend, writer: Engine, step: Migration) -> None:
    with writer.begin() as connection:
        backend.hold(connection)
        if backend.schema(connection) >= step.number:  # another process was first
            return
        for statement in step.statements(backend.words):
            connection.exec_driver_sql(statement, execution_options={"no_parameters": True})
        backend.applied(connection, step.number)
