"""Numbered migrations, each applied once and in order; gaps in the numbers are allowed.

One script serves both databases: placeholders such as `{serial}` and `{blob}` stand for the types
of the database. If the databases need different statements, there are two scripts:
`0004_name.postgresql.sql` and `0004_name.sqlite.sql`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

from suffice.errors import StoreNewer
from suffice.sql.backend import Backend, Dialect
from suffice.sql.toolkit import Engine


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    script: str

    def statements(self, words: Mapping[str, str]) -> Iterator[str]:
        """The statements, with placeholders replaced."""
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
    """All migrations for a dialect, in order."""
    folder = resources.files("suffice.sql") / "migrations"
    found = []
    for entry in folder.iterdir():
        name, *only, ending = entry.name.split(".")
        if ending == "sql" and only in ([], [dialect]):
            found.append(Migration(int(name[:4]), name[5:], entry.read_text(encoding="utf-8")))
    return sorted(found, key=lambda migration: migration.number)


def migrate(backend: Backend, writer: Engine, known: int) -> None:
    """Apply the missing migrations, each in its own transaction. If two processes migrate at the
    same time, one waits and then finds nothing to do."""
    steps = migrations(backend.dialect)
    newest = steps[-1].number
    if known > newest:
        raise StoreNewer(
            f"{backend.where} has schema version {known}, but this version of Suffice supports "
            f"only up to {newest}.",
            remedy="Upgrade Suffice, or use another --store.",
        )
    for step in steps:
        if step.number > known:
            _apply(backend, writer, step)


def _apply(backend: Backend, writer: Engine, step: Migration) -> None:
    with writer.begin() as connection:
        backend.hold(connection)
        if backend.schema(connection) >= step.number:  # another process has applied it
            return
        for statement in step.statements(backend.words):
            connection.exec_driver_sql(statement, execution_options={"no_parameters": True})
        backend.applied(connection, step.number)
