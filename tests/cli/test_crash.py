"""Indexing that is killed or started twice at once loses no data."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from filelock import FileLock

from suffice.errors import StoreBusy, StoreMissing
from suffice.evidence.library import Library
from suffice.settings import Settings

INDEX = [sys.executable, "-c", "from suffice.cli import main; main()", "index"]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(120):
        body = " ".join(f"Rule {n} part {m} asks for {n * m} euros." for m in range(8))
        (folder / f"rule-{n:03}.md").write_text(f"# Rule {n}\n\n{body}\n")
    return folder


def start(docs: Path, store: Path | str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*INDEX, str(docs), "--store", str(store)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "SUFFICE_STORE_WAIT_SECONDS": "120"},
    )


def contents(store: Path | str) -> tuple[set[str], set[str]]:
    """The documents in the store, and those the index finds."""
    library = Library.open(store)
    search = library.search()
    hits = search.index.search(None, "rule euros", search.allowed, 10_000)
    found = {p.document for p in library.store.passages([hit.number for hit in hits]).values()}
    return {version.document for version in library.store.versions()}, found


def test_killed_anywhere_the_next_run_finishes(docs: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    committed: set[str] = set()
    for pause in (0.9, 1.3, 1.8, 2.6):
        process = start(docs, store)
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with suppress(StoreMissing):  # killed before there was one
            opened = Library.open(store)
            now = {version.document for version in opened.store.versions()}
            assert committed <= now  # nothing committed is lost
            committed = now
            opened.store.close()
    process = start(docs, store)
    assert process.wait() == 0
    names = {file.name for file in docs.iterdir()}
    assert contents(store) == (names, names)


def test_two_at_once(docs: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    both = [start(docs, store) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    names = {file.name for file in docs.iterdir()}
    assert contents(store) == (names, names)
    assert len(Library.open(store).store.versions()) == len(names)


def test_on_a_server_killed_and_then_two_at_once(
    docs: Path, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    killed = start(docs, postgres_url)
    time.sleep(2)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    both = [start(docs, postgres_url) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    names = {file.name for file in docs.iterdir()}
    assert contents(postgres_url) == (names, names)


def test_a_second_writer_says_who_is_in_the_way_and_readers_go_on(
    library: Library, handbook: Path
) -> None:
    impatient = Library(library.store, library.embedder, Settings(store_wait_seconds=0.2))
    with FileLock(f"{library.store.where}.lock"):
        with pytest.raises(StoreBusy, match="Another process is writing"):
            impatient.add(handbook)
        assert impatient.search()("remote work").items
