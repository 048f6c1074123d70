"""Retrievers over search engines that users already have."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fsspec
import pytest

import suffice
from suffice.errors import EvidenceError, SettingsError, SourceMissing
from suffice.integrations.opensearch import OpenSearchRetriever
from suffice.integrations.pgvector import PgVectorRetriever
from suffice.integrations.remote_folder import remote_folder
from suffice.types import Level
from tests.fakes import HashEmbedder
from tests.postgres import Postgres

LEAVE = "Parental leave lasts 18 weeks."
OFFICE = "The office in Berlin closes at six."
QUESTION = "How long is parental leave?"


def embed(text: str) -> list[float]:
    return [float(one) for one in HashEmbedder(dimension=8).embed([text])[0]]


@pytest.fixture
def table(postgres: Postgres) -> str:
    postgres.execute("DROP DATABASE IF EXISTS vectors")
    postgres.execute("CREATE DATABASE vectors")
    postgres.execute("CREATE EXTENSION vector", "vectors")
    postgres.execute(
        "CREATE TABLE chunks (content text, embedding vector(8), name text, ends date)", "vectors"
    )
    for text, name, ends in (
        (OFFICE, "office", "NULL"),
        (LEAVE, "leave", "NULL"),
        ("Parental leave lasts 12 weeks.", "old", "'2020-01-01'"),
    ):
        row = f"('{text}', '{embed(text)}', '{name}', {ends})"
        postgres.execute(f"INSERT INTO chunks VALUES {row}", "vectors")
    return postgres.url("vectors")


def test_pgvector_feeds_the_gate(table: str) -> None:
    fields = {"document": "name", "expires": "ends"}
    search = PgVectorRetriever(table, "public.chunks", embed=embed, fields=fields, top_k=3)
    found = search(LEAVE)
    assert found[0]["text"] == LEAVE
    assert {one["document"] for one in found} == {"leave", "old", "office"}
    decision = suffice.gate(QUESTION, found)
    assert decision.level is Level.SUFFICIENT
    assert [one.passage.document for one in decision.excluded] == ["old"]


def test_pgvector_options_and_errors(table: str) -> None:
    nearest = PgVectorRetriever(table, "chunks", embed=embed, distance="l2", top_k=1)(OFFICE)
    assert nearest == [{"text": OFFICE}]
    with pytest.raises(EvidenceError, match="cannot be searched"):
        PgVectorRetriever(table, "no such; table", embed=embed)(QUESTION)
    with pytest.raises(EvidenceError, match="dimension"):
        PgVectorRetriever(table, "chunks", embed=lambda text: [1.0])(QUESTION)
    with pytest.raises(SettingsError, match="distance"):
        PgVectorRetriever(table, "chunks", embed=embed, distance="far")  # type: ignore[arg-type]


class Stub(ThreadingHTTPServer):
    """Answers a search in the format of OpenSearch and Elasticsearch."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.status = 200
        self.answer: dict[str, Any] = {
            "took": 2,
            "timed_out": False,
            "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
            "hits": {
                "total": {"value": 2, "relation": "eq"},
                "max_score": 1.3,
                "hits": [
                    {
                        "_index": "policies",
                        "_id": "1",
                        "_score": 1.3,
                        "_source": {"body": LEAVE, "meta": {"title": "Leave"}},
                    },
                    {"_index": "policies", "_id": "2", "_score": 0.2, "_source": {"body": OFFICE}},
                ],
            },
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Stub

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        data = json.dumps(self.server.answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


def test_opensearch_by_words(stub: Stub) -> None:
    search = OpenSearchRetriever(stub.url, "policies", text="body", fields={"title": "meta.title"})
    found = search(QUESTION)
    assert found == [{"text": LEAVE, "title": "Leave"}, {"text": OFFICE}]
    assert stub.asked == [
        (
            "/policies/_search",
            {
                "size": 8,
                "_source": ["body", "meta.title"],
                "query": {"match": {"body": {"query": QUESTION}}},
            },
        )
    ]
    assert suffice.gate(QUESTION, found).level is Level.SUFFICIENT


def test_opensearch_by_vectors(stub: Stub) -> None:
    team = {"term": {"team": "hr"}}
    options: dict[str, Any] = {"text": "body", "embed": lambda text: [1, 0], "filter": team}
    OpenSearchRetriever(stub.url, "policies", **options, top_k=3)(QUESTION)
    OpenSearchRetriever(stub.url, "policies", **options, engine="elasticsearch")(QUESTION)
    OpenSearchRetriever(stub.url, "policies", text="body", filter=team)(QUESTION)
    first, second, third = (body for _, body in stub.asked)
    near = {"vector": [1.0, 0.0], "k": 3, "filter": team}
    assert first["query"] == {"knn": {"embedding": near}}
    assert second["knn"] == {
        "field": "embedding",
        "query_vector": [1.0, 0.0],
        "k": 8,
        "num_candidates": 100,
        "filter": team,
    }
    assert third["query"]["bool"]["filter"] == team


def test_opensearch_errors(stub: Stub) -> None:
    search = OpenSearchRetriever(stub.url, "policies", text="body")
    stub.answer["_shards"]["failed"] = 1
    with pytest.raises(EvidenceError, match="incomplete"):
        search(QUESTION)
    stub.status = 404
    stub.answer = {
        "error": {"type": "index_not_found_exception", "reason": "no such index [policies]"},
        "status": 404,
    }
    with pytest.raises(EvidenceError, match="no such index"):
        search(QUESTION)
    with pytest.raises(EvidenceError, match="cannot be searched"):
        OpenSearchRetriever("http://127.0.0.1:1", "policies")(QUESTION)


def test_a_remote_folder(tmp_path: Path) -> None:
    files = fsspec.filesystem("memory")
    files.pipe("/handbook/leave.md", f"# Leave\n\n{LEAVE}\n".encode())
    files.pipe("/handbook/more/office.md", f"# Office\n\n{OFFICE}\n".encode())
    store = tmp_path / "store.db"
    with remote_folder("memory://handbook") as folder, suffice.open(folder, store=store) as corpus:
        assert "18 weeks" in corpus.ask(QUESTION).released
    assert not folder.exists()
    files.rm("/handbook/more/office.md")
    with remote_folder("memory://handbook") as again, suffice.open(again, store=store) as corpus:
        assert (corpus.report.added, corpus.report.unchanged) == (0, 1)
    with pytest.raises(SourceMissing), remote_folder("memory://nothing"):
        pass


def test_an_object_cannot_leave_the_folder() -> None:
    files = fsspec.filesystem("memory")
    files.store["/trap/../../evil.md"] = fsspec.implementations.memory.MemoryFile(
        files, "/trap/../../evil.md", b"x"
    )
    try:
        with pytest.raises(SourceMissing, match="outside"), remote_folder("memory://trap"):
            pass
    finally:
        del files.store["/trap/../../evil.md"]
