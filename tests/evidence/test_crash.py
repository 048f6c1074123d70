"""Indexing that is killed or started twice at once loses no data."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from filelock import FileLock

from suffice.errors import StoreBusy
from suffice.evidence.library import Library
from suffice.settings import Settings
from tests.evidence.indexing import index, opened
from tests.processes import ended, started

FILES = 80


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(FILES):
        (folder / f"rule-{n:03}.md").write_text(f"# Rule {n}\n\nRule {n} asks for {n} euros.\n")
    return folder


@pytest.fixture
def store(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return place


def documents(store: str) -> set[str]:
    """The documents in the store."""
    library = opened(store)
    found = {version.document for version in library.store.versions()}
    library.store.close()
    return found


def assert_whole(docs: Path, store: str) -> None:
    """Every file is in the store once, and the index finds it."""
    library = opened(store)
    names = sorted(file.name for file in docs.iterdir())
    assert sorted(version.document for version in library.store.versions()) == names
    search = library.search()
    hits = search.index.search(None, "rule euros", search.allowed, 10_000)
    found = library.store.passages([hit.number for hit in hits]).values()
    assert sorted({passage.document for passage in found}) == names
    library.store.close()


def test_killed_anywhere_the_next_run_finishes(docs: Path, store: str) -> None:
    committed: set[str] = set()
    for point in ("documents 1", "documents 40", "documents 70", f"passages {FILES}",
                  f"index {FILES}"):  # fmt: skip
        assert ended(started(index, docs, store, point)) == -signal.SIGKILL
        now = documents(store)
        assert committed <= now  # nothing committed is lost
        committed = now
    assert ended(started(index, docs, store)) == 0
    assert_whole(docs, store)


def test_two_at_once(docs: Path, store: str) -> None:
    both = [started(index, docs, store) for _ in range(2)]
    assert [ended(process) for process in both] == [0, 0]
    assert_whole(docs, store)


def test_a_second_writer_says_who_is_in_the_way_and_readers_go_on(
    library: Library, handbook: Path
) -> None:
    impatient = Library(library.store, library.embedder, Settings(store_wait_seconds=0.2))
    with FileLock(f"{library.store.where}.lock"):
        with pytest.raises(StoreBusy, match="Another process is writing"):
            impatient.add(handbook)
        assert impatient.search()("remote work").items
