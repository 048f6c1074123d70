"""Documents and versions in SQL: nothing is lost, and ids are the same on any machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from sqlalchemy import inspect, select

from suffice.errors import DocumentMissing, StoreFull, StoreMissing
from suffice.evidence.ingest import Ingest, Report
from suffice.evidence.read.process import Reader
from suffice.evidence.sources import read_text
from suffice.evidence.store import Store
from suffice.evidence.tables import METADATA, versions
from suffice.settings import ReadSettings, Settings
from suffice.types import Passage
from tests.fakes import HashEmbedder

TODAY = date(2026, 11, 15)


def ingest(store: Store, day: date = TODAY, collection: str = "default") -> Ingest:
    quiet = lambda what, done, total: None  # noqa: E731
    return Ingest(
        store, HashEmbedder(), Settings(), collection, day, False, quiet, Reader(ReadSettings())
    )


def add(store: Store, folder: Path, day: date = TODAY) -> Report:
    return ingest(store, day).folder(folder)


def passages(store: Store) -> list[Passage]:
    model = HashEmbedder().id
    return [passage for batch in store.unembedded(model, 100) for _, passage in batch]


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    opened = Store.open(place, create=True)
    yield opened
    opened.close()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("---\ntitle: A\nversion: 1\n---\n# A\n\nAlpha is one.\n")
    (folder / "b.md").write_text("Beta is two.\n")
    return folder


def test_same_content_twice_is_a_no_op(store: Store, docs: Path) -> None:
    assert add(store, docs) == Report(added=2)
    before = store.last_change()
    assert add(store, docs) == Report(unchanged=2)
    (docs / "a.md").touch()  # another time, the same content
    assert add(store, docs) == Report(unchanged=2)
    assert store.last_change() == before
    assert len(store.versions()) == 2


def test_changed_content_is_a_new_version_and_the_old_one_is_kept(store: Store, docs: Path) -> None:
    add(store, docs, date(2026, 1, 1))
    (docs / "a.md").write_text("---\ntitle: A\nversion: 2\n---\n# A\n\nAlpha is three.\n")
    assert add(store, docs).changed == 1
    versions = store.versions(document="a.md")
    assert [v.version for v in versions] == ["1", "2"]
    assert [v.status(TODAY) for v in versions] == ["superseded", "current"]
    assert "Alpha is one." in store.text("default", "a.md", versions[0].key)


def test_changed_content_without_a_declared_version(store: Store, docs: Path) -> None:
    add(store, docs)
    (docs / "b.md").write_text("Beta is four.\n")
    add(store, docs)
    versions = store.versions(document="b.md")
    assert [v.status(TODAY) for v in versions] == ["superseded", "current"]
    assert versions[0].key != versions[1].key


def test_an_earlier_content_that_comes_back_is_current_again(store: Store, docs: Path) -> None:
    first = (docs / "b.md").read_text()
    for text in (first, "Beta is four.\n", first):
        (docs / "b.md").write_text(text)
        add(store, docs)
    versions = store.versions(document="b.md")
    assert [v.status(TODAY) for v in versions] == ["superseded", "superseded", "current"]
    assert store.text("default", "b.md", versions[-1].key) == first


def test_a_vanished_file_is_retired_and_can_return(store: Store, docs: Path) -> None:
    add(store, docs)
    text = (docs / "b.md").read_text()
    (docs / "b.md").unlink()
    assert add(store, docs).retired == 1
    assert store.versions(document="b.md")[0].status(TODAY) == "retired"
    (docs / "b.md").write_text(text)
    add(store, docs)
    assert store.versions(document="b.md")[0].status(TODAY) == "current"


def test_front_matter_that_gains_a_title_still_supersedes(store: Store, docs: Path) -> None:
    add(store, docs)
    (docs / "b.md").write_text("---\ntitle: Beta\nversion: 1\n---\nBeta is five.\n")
    add(store, docs)
    assert [v.status(TODAY) for v in store.versions(document="b.md")] == ["superseded", "current"]


def test_ids_name_document_version_and_place_and_are_the_same_anywhere(
    tmp_path: Path, docs: Path
) -> None:
    elsewhere = tmp_path / "copy" / "of" / "docs"
    elsewhere.mkdir(parents=True)
    for file in docs.iterdir():
        (elsewhere / file.name).write_bytes(file.read_bytes())
    found = []
    for name, folder in (("one.db", docs), ("two.db", elsewhere)):
        opened = Store.open(tmp_path / name, create=True)
        add(opened, folder)
        found.append({p.id: p.content_hash for p in passages(opened)})
        opened.close()
    assert found[0] == found[1]
    assert all(id.startswith(("a.md@1+", "b.md@")) and "#" in id for id in found[0])


def test_passages_are_slices_of_the_stored_text(store: Store, handbook: Path) -> None:
    add(store, handbook)
    keys = {(v.document, v.version): v.key for v in store.versions()}
    found = passages(store)
    assert len(found) > 60
    for passage in found:
        text = store.text("default", passage.document, keys[passage.document, passage.version])
        assert text[passage.start : passage.end] == passage.text


def test_lookup_by_id(store: Store, docs: Path) -> None:
    add(store, docs)
    id = passages(store)[0].id
    assert store.lookup([id, "no.md@1#0-1"]).keys() == {id}


def test_two_files_of_one_policy_are_one_history(store: Store, handbook: Path) -> None:
    add(store, handbook)
    history = store.history("default", "remote-work.md")
    assert [(v.document, v.version, v.status(TODAY)) for v in history] == [
        ("remote-work-2023.md", "1.0", "superseded"),
        ("remote-work.md", "2.0", "current"),
    ]
    by_name = {v.document: v.status(TODAY) for v in store.versions()}
    assert by_name["travel-allowance-2024.md"] == "expired"
    assert by_name["mobility-budget.md"] == "not yet effective"


def test_other_cutting_makes_other_passages_of_the_same_version(store: Store, docs: Path) -> None:
    (docs / "long.md").write_text(" ".join(f"Sentence number {n} stands here." for n in range(40)))
    add(store, docs)
    epoch, before, versions = store.epoch, len(passages(store)), len(store.versions())
    narrow = replace(ingest(store), embedder=HashEmbedder(window=40))
    narrow.folder(docs)
    assert len(passages(store)) > before
    assert len(store.versions()) == versions
    assert store.epoch != epoch  # so the index is made anew


def test_no_such_document(store: Store) -> None:
    with pytest.raises(DocumentMissing, match=r"no document 'x.md'"):
        store.versions(document="x.md")


def test_no_store(place: str) -> None:
    with pytest.raises(StoreMissing, match="suffice index"):
        Store.open(place)


def test_a_full_disk_loses_nothing_committed(tmp_path: Path, docs: Path) -> None:
    store = Store.open(tmp_path / "s.db", create=True)
    add(store, docs)
    with store.database.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")
    (docs / "c.md").write_text("Gamma. " * 20_000)
    with pytest.raises(StoreFull, match="Free some space"):
        add(store, docs)
    assert len(store.versions()) == 2
    with store.database.writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    add(store, docs)
    assert len(store.versions()) == 3
    store.close()


def everything(store: Store, docs: Path, handbook: Path) -> list[object]:
    """Two runs of indexing, and all that can be asked of the store after them."""
    add(store, docs, date(2026, 1, 1))
    (docs / "b.md").write_text("---\naccess: [hr]\n---\nBeta: ÄNDERUNG of the Zebra-Ordnung.\n")
    for run in (ingest(store), ingest(store, collection="Other"), ingest(store, collection="a_b")):
        run.folder(docs)
        run.folder(handbook)
        run.finish()
    store.retire("default", ["annual-leave.md"], TODAY, by="person")
    model = HashEmbedder().id
    stored = [entry for batch in store.changes(0, model, 50) for entry in batch]
    passages = [entry.passage for entry in stored]
    return [
        store.collections(),
        store.versions(),
        store.versions(collection="default", document="b.md"),
        store.history("default", "remote-work.md"),
        {name: replace(known, stamp="") for name, known in store.known("default").items()},
        [(entry.number, entry.passage, entry.vector.tolist()) for entry in stored],
        store.lookup([passage.id for passage in passages]),
        store.passages([entry.number for entry in stored]),
        [store.titled("default", words) for words in (["Leave"], ["leave", "policy"], ["%"], [])],
        [
            store.holding("default", phrase, names)
            for phrase in ("Zebra", "ÄNDERUNG", "100 %", "leave", "_", "\x00", "\ud800")
            for names in ((), ("annual-leave.md", "b.md"))
        ],
        (store.epoch, store.last_change(), store.last_vector(), store.has_vectors(model)),
        (store.count_changes(0), store.count_unembedded(model), store.count_unembedded("x")),
    ]


def test_both_databases_answer_alike(
    tmp_path: Path, postgres_url: str, docs: Path, handbook: Path
) -> None:
    said = []
    first = (docs / "b.md").read_text()
    for place in (str(tmp_path / "s.db"), postgres_url):
        (docs / "b.md").write_text(first)
        store = Store.open(place, create=True, index=str(tmp_path / "index"))
        said.append(everything(store, docs, handbook))
        store.close()
    for of_file, of_server in zip(*said, strict=True):
        assert of_file == of_server
    assert len(said[0][5]) > 200  # type: ignore[arg-type]
    assert {version.collection for version in said[0][3]} == {"default"}  # type: ignore[attr-defined]


def test_what_no_database_can_hold_is_marked_and_never_found(store: Store) -> None:
    run = ingest(store)
    text = "Nul \x00 and half a \ud83d character."
    version = read_text("odd", "Od\x00d", text, "default", run.cutting, TODAY)
    run.documents([version])
    (passage,) = passages(store)
    assert passage.text == "Nul \ufffd and half a \ufffd character."
    assert passage.title == "Od\ufffdd"
    assert store.lookup([passage.id, "od\x00d", "\ud83d"]).keys() == {passage.id}
    assert store.titled("default", ["od\x00"]) == store.holding("default", "nul \x00") == []


def test_writers_in_threads_number_their_changes_one_by_one(store: Store, docs: Path) -> None:
    """Also where they do not hold the writer's lock: it goes with a lost connection."""

    def write(n: int) -> None:
        run = ingest(store)
        run.documents([read_text(f"d{n}", "", f"Text {n}.", "default", run.cutting, TODAY)])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(24)))
    assert store.last_change() == 24
    with store.database.reading() as connection:
        numbers = connection.execute(select(versions.c.changed, versions.c.sequence)).all()
    assert sorted(tuple(row) for row in numbers) == [(n, n) for n in range(1, 25)]


def test_the_tables_are_those_the_migrations_make(store: Store) -> None:
    with store.database.reading() as connection:
        found = inspect(connection)
        for table in METADATA.tables.values():
            wanted = {(c.name, c.nullable) for c in table.columns if c.name != "rowid"}
            there = {
                (c["name"], c["nullable"] and c["name"] != "id")
                for c in found.get_columns(table.name)
                if c["name"] != "rowid"
            }
            assert there == wanted, table.name


def test_a_second_folder_with_the_same_names_does_not_take_them_over(
    store: Store, docs: Path, tmp_path: Path
) -> None:
    add(store, docs)
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("Something else.\n")
    report = add(store, other)
    assert "already has this document" in report.failures[0].reason
    assert len(store.versions(document="a.md")) == 1


def test_a_file_name_that_is_no_utf8(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("Coffee is free.\n")
    assert add(store, folder).added == 1
    assert store.versions()[0].document == "caf\\xe9.md"


def test_history_of_a_content_that_went_and_came_back(store: Store, docs: Path) -> None:
    first = (docs / "b.md").read_text()
    for day, text in ((1, first), (2, "Beta is four.\n"), (3, first)):
        (docs / "b.md").write_text(text)
        add(store, docs, date(2026, 1, day))
    held = {
        day: [
            v.key[:4]
            for v in store.versions(document="b.md")
            if v.force_from <= date(2026, 1, day) < v.force_until
        ]
        for day in (1, 2, 3)
    }
    assert held[1] == held[3] != held[2]
    assert [len(keys) for keys in held.values()] == [1, 1, 1]


def test_what_a_person_retired_stays_so_until_its_content_changes(store: Store, docs: Path) -> None:
    add(store, docs)
    store.retire("default", ["b.md"], TODAY, by="person")
    (docs / "b.md").touch()
    assert add(store, docs) == Report(unchanged=2)
    assert store.versions(document="b.md")[0].status(TODAY) == "retired"
    (docs / "b.md").write_text("Beta is new.\n")
    add(store, docs)
    assert store.versions(document="b.md")[-1].status(TODAY) == "current"


def test_a_folder_that_cannot_be_read_keeps_its_documents(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "sub").mkdir()
    (docs / "sub" / "c.md").write_text("Gamma.\n")
    add(store, docs)
    scandir = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    report = add(store, docs)
    assert report.retired == 0
    assert "Permission denied" in report.failures[0].reason


def test_a_file_indexed_alone_belongs_to_its_folder_later(store: Store, docs: Path) -> None:
    ingest(store).folder(docs / "a.md")
    add(store, docs)
    (docs / "a.md").unlink()
    assert add(store, docs).retired == 1


def test_labels_added_later_close_the_older_contents_too(store: Store, docs: Path) -> None:
    add(store, docs, date(2026, 1, 1))
    (docs / "b.md").write_text("---\naccess: [hr]\n---\nBeta is secret.\n")
    add(store, docs)
    assert {v.access for v in store.versions(document="b.md")} == {frozenset({"hr"})}


def test_a_title_is_shown_without_html(store: Store, docs: Path) -> None:
    (docs / "a.md").write_text("---\ntitle: Travel <em>before</em> joining\n---\nText.\n")
    add(store, docs)
    assert "Travel before joining" in {version.title for version in store.versions()}
