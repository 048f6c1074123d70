"""The index on a Qdrant server: uploads that are repeated, killed or refused, and the library over
it. The contract of every index is in test_index.py."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from sqlalchemy import update

from suffice.errors import (
    ExtraMissing,
    StoreError,
    StoreMissing,
    StoreRights,
    StoreUnreachable,
)
from suffice.evidence import qdrant, tables
from suffice.evidence.library import Library
from suffice.evidence.qdrant import QdrantIndex, Server, upload
from suffice.evidence.store import Store
from suffice.settings import QdrantSettings, Settings
from tests.fakes import HashEmbedder

pytest.importorskip("qdrant_client")
EMBEDDER = HashEmbedder()
LOCAL = QdrantSettings(url=":memory:", prefix="suffice-unit-")
SETTINGS = Settings(index_engine="qdrant", qdrant=LOCAL)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(30):
        (folder / f"rule-{n:02}.md").write_text(f"# Rule {n}\n\nRule {n} asks for {n} euros.\n")
    return folder


@pytest.fixture
def library(tmp_path: Path, docs: Path) -> Library:
    library = Library(Store.open(tmp_path / "s.db", create=True), EMBEDDER, SETTINGS)
    library.add(docs)
    return library


def collections(store: Store) -> dict[str, int]:
    server = Server.of(store, LOCAL)
    return {name: server.client.count(name).count for name in server.names()}


def documents(library: Library, question: str) -> list[str]:
    return [passage.document for passage in library.search(top=40)(question).passages]


def again(store: Store, **options: Any) -> bool:
    return upload(store, EMBEDDER.id, EMBEDDER.dimension, LOCAL, **options)


def test_the_library_finds_what_the_embedded_index_finds(
    library: Library, tmp_path: Path, docs: Path
) -> None:
    embedded = Library(Store.open(tmp_path / "e.db", create=True), EMBEDDER, Settings())
    embedded.add(docs)
    for question in ("rule 7", "euros", "what does rule 21 ask for"):
        one, other = (place.search(top=8)(question) for place in (library, embedded))
        assert [item.passage.id for item in one] == [item.passage.id for item in other]
        for mine, theirs in zip(one, other, strict=True):
            assert mine.score == pytest.approx(theirs.score, abs=1e-4)


def test_an_upload_can_be_repeated(library: Library) -> None:
    before = collections(library.store)
    assert list(before.values()) == [30 + 1]  # the passages, and what the collection contains
    hits = documents(library, "rule 7")
    assert not again(library.store)
    version = library.index_version()
    assert again(library.store, rebuild=True)
    assert library.index_version() == version
    assert collections(library.store) == before
    assert documents(library, "rule 7") == hits


def test_only_changes_are_uploaded(
    library: Library, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    upsert = qdrant._upsert

    def noting(server: Server, name: str, points: list[Any]) -> int:
        sent.extend(point.id for point in points)
        return upsert(server, name, points)

    monkeypatch.setattr(qdrant, "_upsert", noting)
    (docs / "new.md").write_text("Zebras pay nothing.\n")
    (docs / "rule-03.md").unlink()
    version = library.index_version()
    library.add(docs)
    assert library.index_version() != version
    assert len(sent) == 3  # the new passage, the retired one, and the state
    found = documents(library, "zebras rule 3")
    assert "new.md" in found
    assert "rule-03.md" not in found


def test_an_upload_that_was_killed_is_finished_by_the_next(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(tmp_path / "k.db", create=True)
    library = Library(store, EMBEDDER, SETTINGS)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(qdrant, "_note", killed)
        with pytest.raises(KeyboardInterrupt):
            library.add(docs)
    with pytest.raises(StoreMissing, match="not been built"):
        library.search()
    library.add(docs)
    assert list(collections(store).values()) == [31]
    assert len(documents(library, "rule euros")) == 30


def test_a_reader_follows_when_the_store_is_split_again(library: Library) -> None:
    search, store = library.search(), library.store
    before = list(collections(store))
    with store.database.writing() as connection:
        connection.execute(update(tables.store).values(epoch=tables.store.c.epoch + 1))
    assert search("rule 7").items  # the old collection, until the new one is complete
    assert again(store)
    assert search("rule 7").items
    assert len(collections(store)) == 1
    assert list(collections(store)) != before


def test_batches_are_uploaded_at_the_same_time(library: Library) -> None:
    both = Barrier(2, timeout=60)

    class Client:
        def upsert(self, name: str, points: list[Any], wait: bool) -> None:
            both.wait()  # breaks unless two requests meet

    server = replace(Server.of(library.store, LOCAL), client=Client())
    batches = library.store.changes(0, EMBEDDER.id, 5)
    assert sum(qdrant._uploaded(server, "any", batches, 2)) == 30


class Fake(BaseHTTPRequestHandler):
    """Answers every request as scripted: a status, and the version of the server."""

    script: tuple[list[int], str]

    def do_GET(self) -> None:
        statuses, version = self.script
        status = 200 if self.path == "/" else statuses.pop(0) if statuses else 200
        title = {"title": "qdrant", "version": version, "commit": None}
        found = {"result": {"collections": []}, "status": "ok", "time": 0.0}
        body = json.dumps(title if self.path == "/" else found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def faked(version: str, *statuses: int) -> Iterator[QdrantSettings]:
    handler = type("Scripted", (Fake,), {"script": (list(statuses), version)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield QdrantSettings(url=f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()


def test_a_server_that_would_reveal_words_is_refused(library: Library) -> None:
    with faked("1.18.2") as old, pytest.raises(StoreError, match=r"1\.18\.2.*1\.19"):
        QdrantIndex(library.store, EMBEDDER.id, old)


def test_refusals_of_the_server_have_a_remedy(library: Library) -> None:
    with faked("1.20.0", 401) as server, pytest.raises(StoreRights, match="key_env"):
        Server.of(library.store, server).names()
    with faked("1.20.0", 503) as server, pytest.raises(StoreUnreachable, match="not available"):
        Server.of(library.store, server).names()
    with faked("1.20.0", 400) as server, pytest.raises(StoreError, match="400"):
        Server.of(library.store, server).names()
    with pytest.raises(StoreUnreachable, match=r"qdrant\.url"):
        Server.of(library.store, server).names()  # it no longer runs


def test_a_brief_failure_is_tried_again(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    class Client:
        def upsert(self, name: str, points: list[Any], wait: bool) -> None:
            calls.append(len(points))
            if len(calls) < 3:
                raise ConnectionResetError("reset")

    monkeypatch.setattr("suffice.evidence.qdrant.time.sleep", lambda seconds: None)
    server = replace(Server.of(library.store, LOCAL), client=Client())
    assert qdrant._upsert(server, "any", [1, 2]) == 2
    assert calls == [2, 2, 2]
    monkeypatch.setattr(Client, "upsert", lambda *_, **__: (_ for _ in ()).throw(OSError("gone")))
    with pytest.raises(StoreUnreachable):
        qdrant._upsert(server, "any", [1])


def test_the_missing_extra_is_named(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(ExtraMissing, match=r"suffice\[qdrant\]"):
        QdrantIndex(library.store, EMBEDDER.id, QdrantSettings(url="http://127.0.0.1:1"))
