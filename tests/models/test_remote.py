"""An embeddings URL, against a real server on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from suffice.errors import ModelMismatch, ModelUnreachable
from suffice.evidence.library import Library
from suffice.models.catalog import open_embedder
from suffice.settings import EmbedderSettings, Settings
from tests.fakes import HashEmbedder


class Server(BaseHTTPRequestHandler):
    seen: ClassVar[list[dict[str, str]]] = []
    broken: ClassVar[bytes | None] = None

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append({"key": self.headers.get("Authorization", ""), "model": body["model"]})
        vectors = HashEmbedder().embed(body["input"])
        rows = [{"index": n, "embedding": v.tolist()} for n, v in enumerate(vectors)]
        reply = self.broken or json.dumps({"data": rows[::-1]}).encode()
        self.send_response(500 if self.broken == b"down" else 200)
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    Server.broken = None
    server.shutdown()


def test_vectors_in_the_order_asked_with_key_and_model(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    embedder = open_embedder(EmbedderSettings(model=url, remote_model="m-1"))
    texts = [f"text number {n}" for n in range(100)]
    expected = HashEmbedder().embed(texts)
    assert embedder.dimension == 64
    assert embedder.embed(texts) == pytest.approx(expected, abs=1e-5)
    assert Server.seen[-1] == {"key": "Bearer secret", "model": "m-1"}


@pytest.mark.parametrize("reply", [b"down", b"<html>", b"{}", b'{"data": []}'])
def test_a_server_that_does_not_answer_as_it_should(url: str, reply: bytes) -> None:
    embedder = open_embedder(EmbedderSettings(model=url))
    Server.broken = reply
    with pytest.raises(ModelUnreachable, match="returned no vectors"):
        embedder.embed(["x"])


def test_nobody_there() -> None:
    for url in ("http://127.0.0.1:9/v1", "http://[::1", "http://127.0.0.1:notaport/v1"):
        embedder = open_embedder(EmbedderSettings(model=url, timeout=120))
        with pytest.raises(ModelUnreachable):
            embedder.embed(["x"])


def test_a_search_goes_on_by_keywords_when_the_embedder_is_gone(
    url: str, tmp_path: Path, handbook: Path
) -> None:
    settings = Settings(embedder=EmbedderSettings(model=url))
    library = Library.open(tmp_path / "s.db", settings, create=True)
    library.add(handbook)
    Server.broken = b"down"
    evidence = library.search()("parental leave weeks")
    assert evidence.items[0].passage.document == "parental-leave.md"
    assert evidence.items[0].relevance is None
    assert "keywords only" in evidence.notes[0]


def test_another_embedder_than_the_index_was_made_with(
    url: str, tmp_path: Path, handbook: Path
) -> None:
    remote = Settings(embedder=EmbedderSettings(model=url))
    Library.open(tmp_path / "s.db", remote, create=True).add(handbook / "expenses.md")
    ours = Library.open(tmp_path / "s.db")
    with pytest.raises(ModelMismatch, match="--rebuild"):
        ours.search()
    with pytest.raises(ModelMismatch, match="--rebuild"):
        ours.add(handbook / "expenses.md")
    assert ours.rebuild().embedded > 0
    assert ours.search()("receipts").items
