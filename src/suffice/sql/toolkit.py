"""The parts of SQLAlchemy in use. No other module imports it, so that one message says what to
install for everything that keeps documents or decisions."""

from __future__ import annotations

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
    "update",
]
