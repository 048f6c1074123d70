"""Search: score fusion, fallback, access rights, and the final decision of the store."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from suffice.errors import ModelMismatch, StoreMissing
from suffice.evidence.index import Filter, Hit
from suffice.evidence.library import Library
from suffice.evidence.search import Search
from suffice.evidence.store import Store
from suffice.settings import SearchSettings, Settings
from tests.fakes import HashEmbedder


def opened(path: Path, engine: str = "edge") -> Library:
    settings = replace(Settings(), index_engine=engine)  # type: ignore[arg-type]
    return Library(Store.open(path, create=True), HashEmbedder(), settings)


def test_the_fused_score_is_of_this_passage_alone(library: Library) -> None:
    search = library.search()
    assert search.fused(Hit(1, 0.6, 10.0)) == pytest.approx(0.5 * 0.6 + 0.5 * 0.5)
    assert search.fused(Hit(1, None, 10.0)) == pytest.approx(0.5)


def test_best_first_and_raw(library: Library) -> None:
    evidence = library.search(top=8)("How many days per week may I work remotely?")
    assert len(evidence) == 8
    assert evidence.items[0].passage.document == "remote-work.md"
    read = [item.score for item in evidence if item.answers is not None]
    others = [item.score for item in evidence if item.answers is None]
    assert [item.score for item in evidence] == [*read, *others]  # what was read comes first
    assert read == sorted(read, reverse=True)
    assert others == sorted(others, reverse=True)
    assert 0 < read[0] < 1


def test_keywords_alone_when_nothing_is_near(tmp_path: Path) -> None:
    library = opened(tmp_path / "s.db")
    library.add_texts([("a", "", "zyxgrommet valve"), ("b", "", "ordinary words here")])
    strict = replace(library.search(), settings=SearchSettings(min_dense_similarity=1.0))
    evidence = strict("zyxgrommet")
    assert [p.document for p in evidence.passages] == ["a"]
    assert "keywords only" in evidence.notes[0]


def test_lookup_finds_old_versions_but_nothing_without_the_right(library: Library) -> None:
    everything = library.search(Filter(history=True, labels=frozenset({"hr"})), top=500)
    ids = {p.document: p.id for p in everything("salary remote work").passages}
    anyone = library.search().documents.lookup(list(ids.values()))
    assert ids["remote-work-2023.md"] in anyone
    assert ids["salary-bands.md"] not in anyone


def test_the_index_of_another_store_is_never_searched(tmp_path: Path) -> None:
    first = opened(tmp_path / "a.db")
    first.add_texts([("public", "", "The canteen opens at noon.")])
    second = opened(tmp_path / "b.db")
    secret = tmp_path / "secret.md"
    secret.write_text("---\naccess: [board]\n---\nThe merger is called Falcon.\n")
    second.add(secret)
    shutil.rmtree(second.store.index)
    shutil.copytree(first.store.index, second.store.index)
    with pytest.raises(StoreMissing, match="not been built"):
        second.search()


def test_what_the_store_took_back_is_left_out_of_an_older_index(tmp_path: Path) -> None:
    library = opened(tmp_path / "s.db")
    library.add_texts([("a", "", "alpha beta"), ("b", "", "alpha gamma")])
    library.store.retire("default", ["a"], date(2020, 1, 1))  # and the index does not know yet
    assert [p.document for p in library.search()("alpha").passages] == ["b"]


def test_a_search_follows_the_calendar(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    search = library.search()
    assert "mobility-budget.md" not in {p.document for p in search("mobility budget").passages}
    monkeypatch.setattr("suffice.evidence.index.today", lambda: date(2037, 2, 1))
    assert "mobility-budget.md" in {p.document for p in search("mobility budget").passages}


def test_the_memory_index_sees_vectors_that_come_later(tmp_path: Path) -> None:
    library = opened(tmp_path / "s.db", "memory")
    library.add_texts([("a", "", "alpha one")])
    search = library.search()
    assert len(search("alpha")) == 1
    library.add_texts([("b", "", "alpha two")])
    assert len(search("alpha")) == 2
    other = Library(library.store, HashEmbedder(id="hash-2"), library.settings)
    with pytest.raises(ModelMismatch):
        other.search()


def test_another_embedder_may_not_even_retire(tmp_path: Path) -> None:
    library = opened(tmp_path / "s.db")
    library.add_texts([("a", "", "alpha one")])
    other = Library(library.store, HashEmbedder(id="hash-2"), library.settings)
    with pytest.raises(ModelMismatch):
        other.retire("a")


def test_readers_beside_a_writer(tmp_path: Path) -> None:
    """Readers open, search and close in threads of their own while generations come and go."""
    library = opened(tmp_path / "s.db")
    library.add_texts([("doc-0", "", "alpha number zero")])
    problems: list[Exception] = []

    def read() -> None:
        for _ in range(8):
            try:
                store = Store.open(tmp_path / "s.db")
                search: Search = Library(store, HashEmbedder(), Settings()).search()
                assert search("alpha").items
                store.close()
            except Exception as problem:
                problems.append(problem)
                return

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for n in range(1, 6):
        library.add_texts([(f"doc-{n}", "", f"alpha number {n}")])
    for reader in readers:
        reader.join()
    assert problems == []
    assert len(library.search(top=50)("alpha")) == 6


def test_a_near_copy_takes_no_place(tmp_path: Path) -> None:
    library = opened(tmp_path / "s.db")
    guide = "The node listens on the supervisor port for agents that want to join the cluster."
    copies = [(f"v{n}", "", guide) for n in range(8)]
    library.add_texts([*copies, ("other", "", "Agents join with the token of the node.")])
    found = library.search(top=2)("node port for agents that join the cluster")
    assert sorted(one.document[0] for one in found.passages) == ["o", "v"]
