"""The store's database: one schema for a SQLite file (default) and PostgreSQL (by URL).

All modules outside this package import SQLAlchemy from here (`from suffice.sql import sa`), so that
one message says what to install for everything that keeps documents or decisions.
"""

from __future__ import annotations

from suffice.errors import ExtraMissing

try:
    import sqlalchemy as sa
except ImportError as problem:
    raise ExtraMissing("The store of documents and decisions", "store") from problem

__all__ = ["sa"]
