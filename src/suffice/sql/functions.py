"""SQL functions with different names in SQLite and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from suffice.sql.toolkit import Boolean, ColumnElement, GenericFunction, compiles


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
