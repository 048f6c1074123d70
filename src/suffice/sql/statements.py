"""Statements and conditions that SQLAlchemy lacks, or that differ between the databases."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Connection, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction


class holds(GenericFunction[bool]):  # read as a function
    """Whether a text contains another, ignoring the case of ASCII letters. The second argument
    must be in lower case."""

    type = Boolean()
    inherit_cache = True


class among(GenericFunction[bool]):
    """Whether a number is in a JSON list of numbers."""

    type = Boolean()
    inherit_cache = True


_FEW = 1_000


def number_in(column: ColumnElement[int], numbers: Collection[int]) -> ColumnElement[bool]:
    """The condition that a column is one of these numbers. A statement can have a limited number of
    parameters (65,535 in PostgreSQL), so many numbers are one parameter."""
    ordered = sorted(numbers)
    return column.in_(ordered) if len(ordered) <= _FEW else among(column, json.dumps(ordered))


@compiles(holds, "sqlite")
def _sqlite(element: Any, compiler: Any, **kw: Any) -> str:
    text, part = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"instr(lower({text}), {part}) > 0"


@compiles(holds, "postgresql")
def _postgresql(element: Any, compiler: Any, **kw: Any) -> str:
    text, part = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"strpos(lower({text}), {part}) > 0"


@compiles(among, "sqlite")
def _among_sqlite(element: Any, compiler: Any, **kw: Any) -> str:
    number, numbers = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"{number} IN (SELECT value FROM json_each({numbers}))"


@compiles(among, "postgresql")
def _among_postgresql(element: Any, compiler: Any, **kw: Any) -> str:
    number, numbers = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"{number} = ANY (CAST(translate({numbers}, '[]', '{{}}') AS bigint[]))"


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
