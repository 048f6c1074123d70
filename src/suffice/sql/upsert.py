"""INSERT statements that handle rows that already exist, in SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suffice.sql.toolkit import Connection, Table, postgresql, sqlite


def upsert(connection: Connection, table: Table) -> Any:
    """An INSERT with `on_conflict_do_nothing` and `on_conflict_do_update`."""
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    return dialect.insert(table)


def add_counts(connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
    """Insert a row, or add its columns to those of the row with the same primary key."""
    new = upsert(connection, table).values(row)
    key = [column.name for column in table.primary_key]
    summed = {
        name: column + new.excluded[name] for name, column in table.c.items() if name not in key
    }
    connection.execute(new.on_conflict_do_update(index_elements=key, set_=summed))
