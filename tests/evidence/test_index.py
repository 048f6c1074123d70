"""One contract for all indexes; the exact in-memory index is the reference.

The index on a server runs on the client's local mode, or on the server `SUFFICE_QDRANT_URL`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import pytest

from suffice.errors import ModelMismatch, StoreFull, StoreMissing
from suffice.evidence import edge, qdrant
from suffice.evidence.edge import EdgeIndex, publish
from suffice.evidence.index import Filter, Hit, Index
from suffice.evidence.ingest import Ingest
from suffice.evidence.memory import MemoryIndex
from suffice.evidence.read.process import Reader
from suffice.evidence.search import open_index
from suffice.evidence.store import Store
from suffice.settings import QdrantSettings, ReadSettings, Settings
from suffice.types import Kind, Passage
from tests.fakes import HashEmbedder

TODAY = date(2026, 11, 15)
EMBEDDER = HashEmbedder()
QDRANT = QdrantSettings(
    url=os.environ.get("SUFFICE_QDRANT_URL", ":memory:"), prefix=f"suffice-test-{os.getpid()}-"
)
SETTINGS = {"edge": Settings(), "memory": Settings(index_engine="memory")}
if find_spec("qdrant_client"):
    SETTINGS["qdrant"] = Settings(index_engine="qdrant", qdrant=QDRANT)
QUESTIONS = [
    "how many weeks of parental leave",
    "receipts above which amount on business trips",
    "who approves remote work",
    "password length",
    "salary band",
    "zebra",
]


def filled(path: Path, folder: Path) -> Store:
    store = Store.open(path, create=True)
    for settings in SETTINGS.values():
        run = Ingest(
            store,
            EMBEDDER,
            settings,
            "default",
            TODAY,
            False,
            lambda *_: None,
            Reader(ReadSettings()),
        )
        run.folder(folder)
        run.finish()
    return store


def opened(engine: str, store: Store) -> Index:
    return open_index(store, SETTINGS[engine], EMBEDDER.id)


@pytest.fixture(scope="module", autouse=True)
def _clean() -> Iterator[None]:
    """A server that is used by others keeps no collection of these tests."""
    yield
    if "qdrant" in SETTINGS:
        client = qdrant._client(QDRANT.url, os.environ.get(QDRANT.key_env, ""), 30.0)
        for one in client.get_collections().collections:
            if one.name.startswith(QDRANT.prefix):
                client.delete_collection(one.name)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, handbook: Path) -> Store:
    return filled(tmp_path_factory.mktemp("index") / "s.db", handbook)


@pytest.fixture(params=list(SETTINGS))
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def index(engine: str, store: Store) -> Index:
    return opened(engine, store)


def found(index: Index, store: Store, allowed: Filter, question: str = "leave") -> set[str]:
    vector = EMBEDDER.embed([question])[0]
    hits = index.search(vector, question, allowed, 500)
    return {p.document for p in store.passages([hit.number for hit in hits]).values()}


def test_only_what_is_in_force(index: Index, store: Store) -> None:
    names = found(index, store, Filter(TODAY))
    assert "remote-work.md" in names
    assert not names & {
        "remote-work-2023.md",
        "travel-allowance-2024.md",
        "mobility-budget.md",
        "salary-bands.md",
    }


def test_as_of_another_day(index: Index, store: Store) -> None:
    names = found(index, store, Filter(date(2024, 6, 1)))
    assert {"remote-work-2023.md", "travel-allowance-2024.md"} <= names
    assert "remote-work.md" not in names


def test_history_shows_all_versions(index: Index, store: Store) -> None:
    names = found(index, store, Filter(TODAY, history=True))
    assert {"remote-work-2023.md", "remote-work.md", "mobility-budget.md"} <= names
    assert "salary-bands.md" not in names


def test_any_day_of_a_range(index: Index, store: Store) -> None:
    names = found(index, store, Filter(date(2024, 1, 1), through=date(2025, 12, 31)))
    assert {"remote-work-2023.md", "remote-work.md", "travel-allowance-2024.md"} <= names
    assert not names & {"mobility-budget.md", "salary-bands.md", "procurement.md"}


def test_what_was_replaced_before_it_held_is_in_no_range() -> None:
    day = date(2024, 6, 1)
    void = Passage(id="1", text="x", document="a", since=day, until=day)
    assert not Filter(date(2024, 1, 1), through=date(2024, 12, 31)).allows(void)
    assert not Filter(TODAY, past=True).allows(void)
    assert Filter(TODAY, history=True).allows(void)


def test_only_what_is_over(index: Index, store: Store) -> None:
    over = found(index, store, Filter(TODAY, past=True))
    assert over == {"remote-work-2023.md", "travel-allowance-2024.md"}


def test_scores_of_passages_that_another_search_found(index: Index) -> None:
    question, other = "parental leave weeks", "receipts on business trips"
    vector, allowed = EMBEDDER.embed([question])[0], Filter(TODAY)
    own = {hit.number: hit for hit in index.search(vector, question, allowed, 500)}
    numbers = [h.number for h in index.search(EMBEDDER.embed([other])[0], other, allowed, 5)]
    for hit in index.score(vector, question, allowed, numbers):
        assert hit.similarity == pytest.approx(own[hit.number].similarity, abs=1e-5)
        assert hit.keywords == pytest.approx(own[hit.number].keywords, abs=1e-4)
    assert [h.number for h in index.score(vector, question, allowed, numbers)] == numbers
    assert index.score(vector, question, allowed, []) == []
    assert index.score(None, question, allowed, numbers[:1])[0].similarity is None


def test_labels_are_a_hard_filter(index: Index, store: Store) -> None:
    assert "salary-bands.md" in found(index, store, Filter(TODAY, labels=frozenset({"hr"})))
    assert "salary-bands.md" not in found(index, store, Filter(TODAY, labels=frozenset({"it"})))


def test_kind_and_collection(index: Index, store: Store) -> None:
    qa = Filter(TODAY, kinds=frozenset({Kind.QA}))
    assert found(index, store, qa) == {"payroll-faq.md"}
    assert found(index, store, Filter(TODAY, collection="other")) == set()


def test_without_a_vector_words_alone_find(index: Index, store: Store) -> None:
    hits = index.search(None, "parental leave", Filter(TODAY), 5)
    assert hits
    assert all(hit.similarity is None and hit.keywords > 0 for hit in hits)


def test_no_words_and_no_vector_find_nothing(index: Index) -> None:
    assert index.search(None, "", Filter(TODAY), 5) == []


def test_every_hit_has_both_scores(index: Index) -> None:
    question = "parental leave weeks"
    hits = index.search(EMBEDDER.embed([question])[0], question, Filter(TODAY), 3)
    assert 3 <= len(hits) <= 6
    assert all(hit.similarity is not None for hit in hits)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "allowed",
    [
        Filter(TODAY),
        Filter(TODAY, history=True),
        Filter(TODAY, labels=frozenset({"hr"})),
        Filter(date(2023, 1, 1), through=date(2024, 12, 31)),
        Filter(TODAY, past=True),
    ],
)
@pytest.mark.parametrize("engine", [name for name in SETTINGS if name != "memory"])
def test_every_index_agrees_with_the_exact_one(
    store: Store, engine: str, question: str, allowed: Filter
) -> None:
    vector = EMBEDDER.embed([question])[0]
    one, other = (
        {hit.number: hit for hit in opened(name, store).search(vector, question, allowed, 8)}
        for name in (engine, "memory")
    )
    shared = one.keys() & other.keys()
    # Equal scores at the cut may be ordered either way; the rest must be the same.
    assert len(shared) >= len(one.keys() | other.keys()) - 2
    for number in shared:
        assert one[number].similarity == pytest.approx(other[number].similarity, abs=1e-4)
        assert one[number].keywords == pytest.approx(other[number].keywords, abs=1e-3)


def test_what_a_caller_may_not_see_changes_nothing(tmp_path: Path, engine: str) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "open.md").write_text("Bonus rules are public.\n")
    before = filled(tmp_path / "a.db", docs)
    (docs / "secret.md").write_text("---\naccess: [board]\n---\nBonus bonus bonus.\n")
    after = filled(tmp_path / "b.db", docs)
    vector = EMBEDDER.embed(["bonus"])[0]
    alone, beside = (
        opened(engine, store).search(vector, "bonus", Filter(TODAY), 5) for store in (before, after)
    )
    for one, other in zip(alone, beside, strict=True):
        assert one.similarity == pytest.approx(other.similarity)
        assert one.keywords == pytest.approx(other.keywords)


def test_changes_are_seen_by_an_open_reader(tmp_path: Path, engine: str) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("Alpha is one.\n")
    store = filled(tmp_path / "s.db", docs)
    reader = opened(engine, store)
    assert found(reader, store, Filter(TODAY), "alpha") == {"a.md"}
    (docs / "b.md").write_text("Alpha and beta.\n")
    filled(tmp_path / "s.db", docs)
    assert found(reader, store, Filter(TODAY), "alpha") == {"a.md", "b.md"}


def test_an_index_of_another_embedder_is_refused(store: Store, engine: str) -> None:
    with pytest.raises(ModelMismatch, match="suffice index --rebuild"):
        open_index(store, SETTINGS[engine], "another-1")


@pytest.mark.parametrize("engine", [name for name in SETTINGS if name != "memory"])
def test_an_index_that_is_not_built_yet(tmp_path: Path, engine: str) -> None:
    empty = Store.open(tmp_path / "s.db", create=True)
    with pytest.raises(StoreMissing, match="not been built"):
        opened(engine, empty)


def test_rebuilding_gives_the_same_hits(tmp_path: Path, handbook: Path) -> None:
    store = filled(tmp_path / "s.db", handbook)
    vector = EMBEDDER.embed(["leave"])[0]
    before = EdgeIndex(store, EMBEDDER.id).search(vector, "leave", Filter(TODAY), 10)
    assert publish(store, EMBEDDER.id, EMBEDDER.dimension, rebuild=True)
    after = EdgeIndex(store, EMBEDDER.id).search(vector, "leave", Filter(TODAY), 10)
    assert before == after
    assert not publish(store, EMBEDDER.id, EMBEDDER.dimension)  # nothing left to do


def test_room_is_asked_for_before_building(
    tmp_path: Path, handbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(tmp_path / "s.db", handbook)
    published = (store.index / "CURRENT").read_text()
    monkeypatch.setattr(edge, "_SPARE_BYTES", 1 << 60)
    with pytest.raises(StoreFull, match="No document is lost"):
        publish(store, EMBEDDER.id, EMBEDDER.dimension, rebuild=True)
    assert (store.index / "CURRENT").read_text() == published
    assert EdgeIndex(store, EMBEDDER.id).search(None, "leave", Filter(TODAY), 3)


def test_a_memory_index_is_right_when_its_first_searches_run_at_once(store: Store) -> None:
    question, threads = "How many weeks of parental leave?", 4
    vector = EMBEDDER.embed([question])[0]

    def search(index: Index) -> list[Hit]:
        return index.search(vector, question, Filter(TODAY), 20)

    right = search(MemoryIndex(store, EMBEDDER.id))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(threads) as pool:
            for _ in range(10):
                index = MemoryIndex(store, EMBEDDER.id)
                for hits in pool.map(search, [index] * threads):
                    assert hits == right
                assert search(index) == right
    finally:
        sys.setswitchinterval(before)
