"""SQL functions with different names in SQLite and PostgreSQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction


class holds(GenericFunction[bool]):  # read as a function
    """Whether a text contains another, ignoring the case of ASCII letters. The second argument
    must be in lower case."""

    type = Boolean()
    inherit_cache = True


@compiles(holds, "sqlite")
def _sqlite(element: Any, compiler: Any, **kw: Any) -> str:
    text, part = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"instr(lower({text}), {part}) > 0"


@compiles(holds, "postgresql")
def _postgresql(element: Any, compiler: Any, **kw: Any) -> str:
    text, part = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"strpos(lower({text}), {part}) > 0"
