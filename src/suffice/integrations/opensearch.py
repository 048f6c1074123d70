"""A retriever over an index of OpenSearch or Elasticsearch, by its REST API.

>>> search = OpenSearchRetriever("https://localhost:9200", "policies", text="body")
>>> suffice.gate("How long is leave?", search("How long is leave?"))

Without `embed` it searches by words (BM25), with it by vectors. The relevance of the passages is
left open: Suffice computes it with the embedder that its thresholds were made for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

import httpx2

from suffice.errors import EvidenceError, SettingsError

Engine = Literal["opensearch", "elasticsearch"]
_ENGINES = ("opensearch", "elasticsearch")


class OpenSearchRetriever:
    """Finds passages for a question.

    `fields` maps fields of a passage (title, version, effective, expires, document, page) to fields
    of the index. `filter` is a clause in the query language of the engine, for example
    `{"term": {"team": "hr"}}`. `client` is an `httpx2.Client` with your authentication.
    """

    def __init__(
        self,
        url: str,
        index: str,
        *,
        text: str = "text",
        fields: Mapping[str, str] | None = None,
        embed: Callable[[str], Sequence[float]] | None = None,
        vector: str = "embedding",
        engine: Engine = "opensearch",
        filter: Mapping[str, Any] | None = None,
        top_k: int = 8,
        client: httpx2.Client | None = None,
    ) -> None:
        if engine not in _ENGINES:
            raise SettingsError(f"engine is '{engine}'.", remedy=f"Use {' or '.join(_ENGINES)}.")
        self._url = f"{url.rstrip('/')}/{quote(index, safe=',*')}/_search"
        self._names = {"text": text, **(fields or {})}
        self._embed, self._vector, self._engine = embed, vector, engine
        self._filter, self._top_k = filter, top_k
        self._client = client or httpx2.Client(timeout=30)

    def __call__(self, question: str) -> list[dict[str, Any]]:
        found = self._search(self._body(question))
        return [one for hit in found if (one := self._passage(hit["_source"])).get("text")]

    def _body(self, question: str) -> dict[str, Any]:
        frame = {"size": self._top_k, "_source": list(self._names.values())}
        if self._embed is None:
            words: dict[str, Any] = {"match": {self._names["text"]: {"query": question}}}
            return {**frame, "query": self._filtered(words)}
        near = [float(one) for one in self._embed(question)]
        if self._engine == "opensearch":
            own: dict[str, Any] = {"vector": near, "k": self._top_k}
            own |= {"filter": self._filter} if self._filter else {}
            return {**frame, "query": {"knn": {self._vector: own}}}
        knn: dict[str, Any] = {"field": self._vector, "query_vector": near, "k": self._top_k}
        knn |= {"num_candidates": max(100, 10 * self._top_k)}
        knn |= {"filter": self._filter} if self._filter else {}
        return {**frame, "knn": knn}

    def _filtered(self, query: dict[str, Any]) -> dict[str, Any]:
        return {"bool": {"must": query, "filter": self._filter}} if self._filter else query

    def _search(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        try:
            answer = self._client.post(self._url, json=body)
            tree = answer.json()
        except (httpx2.HTTPError, ValueError) as problem:
            raise self._failed(str(problem)) from problem
        if answer.status_code != 200:
            raise self._failed(_reason(tree) or f"HTTP status {answer.status_code}")
        # A part of the results could miss the document that contradicts the others.
        if tree.get("timed_out") or tree.get("_shards", {}).get("failed"):
            raise self._failed("the result is incomplete (a shard failed or timed out)")
        hits: list[dict[str, Any]] = tree["hits"]["hits"]
        return hits

    def _failed(self, why: str) -> EvidenceError:
        return EvidenceError(
            f"{self._url} cannot be searched: {why}.".replace("..", "."),
            remedy="Check the URL, the index, its fields, and the authentication of the client.",
        )

    def _passage(self, source: Mapping[str, Any]) -> dict[str, Any]:
        values = {name: _value(source, path) for name, path in self._names.items()}
        return {name: value for name, value in values.items() if value is not None}


def _value(source: Mapping[str, Any], path: str) -> Any:
    """A field of a document; a dot leads into an object, unless the name itself has a dot."""
    if path in source or "." not in path:
        return source.get(path)
    first, _, rest = path.partition(".")
    inner = source.get(first)
    return _value(inner, rest) if isinstance(inner, Mapping) else None


def _reason(tree: Any) -> str:
    error = tree.get("error") if isinstance(tree, Mapping) else None
    return str(error.get("reason") or "") if isinstance(error, Mapping) else str(error or "")
