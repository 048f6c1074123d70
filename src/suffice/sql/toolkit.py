"""The parts of SQLAlchemy in use. No other module imports it, so that one message says what to
install for everything that keeps documents or decisions.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from suffice.errors import ExtraMissing

try:
    from sqlalchemy import (
        URL,
        BigInteger,
        BindParameter,
        Boolean,
        Column,
        ColumnElement,
        Connection,
        Double,
        Engine,
        Executable,
        FromClause,
        LargeBinary,
        MetaData,
        Row,
        RowMapping,
        Select,
        Table,
        Text,
        and_,
        bindparam,
        case,
        create_engine,
        delete,
        event,
        exists,
        func,
        insert,
        make_url,
        not_,
        or_,
        select,
        text,
        union_all,
        update,
    )
    from sqlalchemy.dialects import postgresql, sqlite
    from sqlalchemy.exc import ArgumentError, DBAPIError
    from sqlalchemy.exc import TimeoutError as PoolTimeout
    from sqlalchemy.ext.compiler import compiles
    from sqlalchemy.pool import QueuePool
    from sqlalchemy.sql.functions import GenericFunction
except ImportError as problem:
    raise ExtraMissing("The store of documents and decisions", "store") from problem

__all__ = [
    "URL",
    "ArgumentError",
    "BigInteger",
    "BindParameter",
    "Boolean",
    "Column",
    "ColumnElement",
    "Connection",
    "DBAPIError",
    "Double",
    "Engine",
    "Executable",
    "FromClause",
    "GenericFunction",
    "LargeBinary",
    "MetaData",
    "PoolTimeout",
    "QueuePool",
    "Row",
    "RowMapping",
    "Select",
    "Table",
    "Text",
    "and_",
    "bindparam",
    "case",
    "compiles",
    "create_engine",
    "delete",
    "event",
    "exists",
    "func",
    "insert",
    "make_url",
    "not_",
    "or_",
    "postgresql",
    "select",
    "sqlite",
    "text",
    "union_all",
    "update",
]


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
