"""A store on a database server: its index, its writer lock, and changes by other machines."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from suffice.errors import ModelMismatch, StoreBusy, StoreMissing
from suffice.evidence.edge import current
from suffice.evidence.library import Library
from suffice.evidence.store import Store
from suffice.settings import Settings
from tests.fakes import HashEmbedder


@pytest.fixture
def machines(postgres_url: str, tmp_path: Path) -> Iterator[tuple[Library, Library]]:
    """Two machines: one store, and an index of its own for each."""
    settings = replace(Settings(), store_wait_seconds=60.0)
    stores = [
        Store.open(postgres_url, create=True, wait=60.0, index=str(tmp_path / name))
        for name in ("one", "other")
    ]
    one, other = (Library(store, HashEmbedder(), settings) for store in stores)
    yield one, other
    for store in stores:
        store.close()


def documents(library: Library) -> list[str]:
    return sorted(p.document for p in library.search()("alpha").passages)


def test_the_index_of_a_file_lies_beside_it_and_that_of_a_server_in_the_cache_folder(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = Store.open(tmp_path / "s.db", create=True)
    assert file.index == tmp_path / "s.db.index"
    server = Store.open(postgres_url, create=True)
    assert server.index == tmp_path / "cache" / "suffice" / f"{server.id}.index"
    for where in (tmp_path / "s.db", postgres_url):
        named = Store.open(where, index=str(tmp_path / "mine"))
        assert named.index == tmp_path / "mine" / named.id
        named.close()
    assert file.id != server.id
    file.close()
    server.close()


def test_what_one_machine_brings_in_another_finds(machines: tuple[Library, Library]) -> None:
    one, other = machines
    one.add_texts([("a", "", "alpha one")])
    assert documents(other) == ["a"]
    other.add_texts([("b", "", "alpha two")])
    assert documents(one) == documents(other) == ["a", "b"]
    one.retire("a")
    assert documents(other) == ["b"]
    generation = current(other.store.index)
    assert documents(other) == ["b"]
    assert current(other.store.index) == generation  # nothing new: nothing is published


def test_while_another_machine_writes_the_last_generation_is_searched(
    machines: tuple[Library, Library],
) -> None:
    one, other = machines
    one.add_texts([("a", "", "alpha one")])
    assert documents(other) == ["a"]
    one.add_texts([("b", "", "alpha two")])
    with one.store.alone(5):
        assert documents(other) == ["a"]
    assert documents(other) == ["a", "b"]


def test_documents_that_are_not_embedded_yet_are_waited_for(
    machines: tuple[Library, Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was cut off before embedding: what it saved must not be taken as indexed."""
    one, other = machines
    one.add_texts([("a", "", "alpha one")])
    with monkeypatch.context() as cut_off:
        cut_off.setattr("suffice.evidence.ingest.Ingest.finish", lambda self, **_: 0)
        one.add_texts([("b", "", "alpha two")])
    with pytest.raises(StoreMissing, match="not been built"):
        documents(other)
    one.add_texts([("c", "", "alpha three")])
    assert documents(other) == ["a", "b", "c"]


def test_another_embedder_is_refused_on_each_machine(machines: tuple[Library, Library]) -> None:
    one, other = machines
    one.add_texts([("a", "", "alpha one")])
    documents(other)
    stranger = replace(other, embedder=HashEmbedder(id="hash-2"))
    with pytest.raises(ModelMismatch):
        documents(stranger)
    moved = replace(one, embedder=stranger.embedder)
    moved.rebuild()
    moved.add_texts([("b", "", "alpha two")])  # vectors are there, and this machine is behind
    with pytest.raises(ModelMismatch):
        documents(stranger)
    assert documents(other) == ["a"]


def test_one_writer_at_a_time_and_readers_go_on(machines: tuple[Library, Library]) -> None:
    one, other = machines
    one.add_texts([("a", "", "alpha one")])
    documents(other)
    hasty = replace(other, settings=replace(other.settings, store_wait_seconds=0.1))
    with one.store.alone(5):
        with pytest.raises(StoreBusy, match="Another process is writing"):
            hasty.add_texts([("b", "", "alpha two")])
        assert documents(other) == ["a"]
    hasty.add_texts([("b", "", "alpha two")])
    assert documents(one) == ["a", "b"]


def test_a_writer_that_died_holds_nobody_up(postgres_url: str) -> None:
    store = Store.open(postgres_url, create=True)
    child = os.fork()
    if child == 0:  # a process of its own, which ends without a word
        try:
            own = Store.open(postgres_url)
            own.alone(5).__enter__()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    with store.alone(5):
        pass
    store.close()


def test_who_waits_for_the_lock_gets_it(machines: tuple[Library, Library]) -> None:
    one, other = machines
    order: list[str] = []
    held = threading.Event()

    def first() -> None:
        with one.store.alone(5):
            held.set()
            threading.Event().wait(0.2)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    held.wait(60)
    with other.store.alone(5):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]
