"""A retriever over a table of PostgreSQL with the pgvector extension.

>>> search = PgVectorRetriever("postgresql://…", "chunks", embed=my_embedder)
>>> suffice.gate("How long is leave?", search("How long is leave?"))

Passages come in the order of the table's own vectors. Their relevance is left open: Suffice
computes it with the embedder that its thresholds were made for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

from suffice.errors import EvidenceError, ExtraMissing, SettingsError

try:
    import psycopg
    from psycopg import sql
except ImportError as problem:
    raise ExtraMissing("The pgvector retriever", "postgres") from problem

Connect = Callable[[], AbstractContextManager[Any]]
_OPERATORS = {"cosine": "<=>", "l2": "<->", "inner": "<#>"}


class PgVectorRetriever:
    """Finds the passages nearest to a question.

    `connect` is a URL, or a function that opens a connection, such as `pool.connection`. `embed`
    turns a question into a vector as the one that filled the table does. `fields` maps fields of a
    passage (title, version, effective, expires, document, page) to columns.
    """

    def __init__(
        self,
        connect: str | Connect,
        table: str,
        *,
        embed: Callable[[str], Sequence[float]],
        text: str = "content",
        vector: str = "embedding",
        fields: Mapping[str, str] | None = None,
        distance: Literal["cosine", "l2", "inner"] = "cosine",
        top_k: int = 8,
    ) -> None:
        if distance not in _OPERATORS:
            raise SettingsError(
                f"distance is '{distance}'.", remedy=f"Use one of {', '.join(_OPERATORS)}."
            )
        self._connect: Connect = (
            (lambda: psycopg.connect(connect)) if isinstance(connect, str) else connect
        )
        self._embed, self._top_k = embed, top_k
        self._names = ("text", *(fields or {}))
        columns = (text, *(fields or {}).values())
        self._query = sql.SQL("SELECT {} FROM {} ORDER BY {} {} %s::vector LIMIT %s").format(
            sql.SQL(", ").join(map(sql.Identifier, columns)),
            sql.Identifier(*table.split(".")),
            sql.Identifier(vector),
            sql.SQL(_OPERATORS[distance]),
        )

    def __call__(self, question: str) -> list[dict[str, Any]]:
        literal = f"[{','.join(str(float(one)) for one in self._embed(question))}]"
        try:
            with self._connect() as connection:
                rows = connection.execute(self._query, (literal, self._top_k)).fetchall()
        except psycopg.Error as problem:
            raise EvidenceError(
                f"The vector table cannot be searched: {problem}".strip(),
                remedy="Check the URL, the table, its columns, and the dimension of the vectors.",
            ) from problem
        return [dict(zip(self._names, row, strict=True)) for row in rows if row[0]]
