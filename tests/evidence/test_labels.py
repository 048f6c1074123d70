"""Documents of one name or id with different access labels know nothing of each other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from sqlalchemy import text

from suffice.errors import LabelNotHeld
from suffice.evidence.index import Filter, today
from suffice.evidence.library import Library
from suffice.evidence.read import FrontMatter
from suffice.evidence.rows import VersionInfo
from suffice.evidence.search import StoredDocuments
from suffice.evidence.store import Store
from suffice.settings import Settings
from tests.earlier import backend, of_schema
from tests.fakes import HashEmbedder

HR = frozenset({"hr"})
PUBLIC: frozenset[str] = frozenset()
NOTHING = FrontMatter()
OLD = b"---\nid: leave\ntitle: Leave\nversion: 1\n---\nLeave is 16 weeks.\n"
NEW = b"---\nid: leave\ntitle: Leave\nversion: 2\naccess: [hr]\n---\nLeave is 18 weeks.\n"
NEWER = b"---\nid: leave\ntitle: Leave\nversion: 3\n---\nLeave is 20 weeks.\n"


@pytest.fixture
def library(place: str, tmp_path: Path) -> Iterator[Library]:
    settings = Settings(index=str(tmp_path / "index"))
    opened = Library(Store.open(place, create=True, index=settings.index), HashEmbedder(), settings)
    yield opened
    opened.store.close()


def statuses(library: Library, labels: frozenset[str] = HR) -> dict[tuple[str, str], str]:
    """The status of each readable version by document and version."""
    allowed = Filter(labels=labels)
    found = filter(allowed.may_read, library.store.versions())
    return {(one.document, one.version): one.status(today()) for one in found}


def force(versions: list[VersionInfo]) -> list[tuple[date, date]]:
    return [(one.force_from, one.force_until) for one in versions if not one.access]


@pytest.mark.parametrize("name", ["leave.md", "next.md"])
def test_a_version_with_other_labels_supersedes_nothing(library: Library, name: str) -> None:
    library.add_upload(OLD, "leave.md", NOTHING)
    before = force(library.store.versions())
    library.add_upload(NEW, name, NOTHING)
    assert force(library.store.versions()) == before
    assert statuses(library) == {("leave.md", "1"): "current", (name, "2"): "current"}
    library.add_upload(NEWER, "newest.md", NOTHING)
    assert statuses(library) == {
        ("leave.md", "1"): "superseded",
        (name, "2"): "current",
        ("newest.md", "3"): "current",
    }
    history = library.store.history("default", "leave.md")
    assert [one.version for one in history if not one.access] == ["1", "3"]


def test_who_may_not_read_a_document_neither_replaces_nor_retires_it(library: Library) -> None:
    library.add_upload(NEW, "leave.md", NOTHING)
    report, labels = library.add_upload(OLD, "leave.md", NOTHING, labels=PUBLIC)
    assert (report.added, report.changed, labels) == (1, 0, PUBLIC)
    assert statuses(library) == {("leave.md", "1"): "current", ("leave.md", "2"): "current"}
    library.retire("leave.md", may_read=Filter().may_use)
    assert statuses(library) == {("leave.md", "1"): "retired", ("leave.md", "2"): "current"}
    again, _ = library.add_upload(OLD, "leave.md", NOTHING, labels=PUBLIC)
    assert again.changed == 1
    assert statuses(library, PUBLIC) == {("leave.md", "1"): "current"}


def test_front_matter_gives_only_labels_that_are_held(library: Library) -> None:
    for labels in (PUBLIC, frozenset({"staff"})):
        with pytest.raises(LabelNotHeld, match="'hr'"):
            library.add_upload(NEW, "leave.md", NOTHING, labels=labels)
    given = FrontMatter(access=frozenset({"hr", "board"}))
    with pytest.raises(LabelNotHeld, match="'board'"):
        library.add_upload(b"Text.", "a.md", given, labels=HR)
    assert library.store.versions() == []
    library.add_upload(NEW, "leave.md", NOTHING, labels=HR)


def test_equal_contents_have_equal_ids_and_each_reader_gets_its_own(library: Library) -> None:
    library.add_upload(b"Same text.", "a.md", NOTHING)
    (passage,) = library.store.titled("default", ["a"])
    with library.store.database.writing() as connection:
        connection.execute(text("UPDATE documents SET access = '[\"hr\"]'"))
    library.add_upload(b"Same text.", "a.md", NOTHING)
    for labels in (PUBLIC, HR):
        found = StoredDocuments(library.store, Filter(labels=labels)).lookup([passage.id])
        assert found[passage.id].text == "Same text."
    public = StoredDocuments(library.store, Filter()).lookup([passage.id])
    assert public[passage.id].access == PUBLIC


def test_hidden_passages_take_up_no_places(library: Library, tmp_path: Path) -> None:
    """Titles and phrases are looked up with a limit, which counts readable documents only."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(25):
        text = f"---\ntitle: Leave {n}\naccess: [hr]\n---\nLeave rule {n}.\n"
        (folder / f"{n:02}.md").write_text(text)
    library.add(folder)
    library.add_upload(OLD, "z.md", NOTHING)
    documents = StoredDocuments(library.store, Filter())
    assert [one.document for one in documents.titled(["leave"])] == ["z.md"]
    assert library.store.holding("default", "leave", most=3, may_read=Filter().may_use)


def test_a_file_that_becomes_public_leaves_its_older_contents_restricted(
    library: Library, tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.md").write_bytes(NEW)
    library.add(folder)
    (folder / "leave.md").write_bytes(NEWER)
    library.add(folder)
    assert statuses(library, PUBLIC) == {("leave.md", "3"): "current"}
    assert statuses(library) == {("leave.md", "2"): "retired", ("leave.md", "3"): "current"}
    assert force(library.store.versions()) == [(date.min, date.max)]  # as if it had no past
    assert library.add(folder).unchanged == 1
    (folder / "leave.md").unlink()
    library.add_upload(OLD, "leave.md", FrontMatter(), labels=PUBLIC)
    library.add_upload(NEW, "leave.md", NOTHING)
    (folder / "other.md").write_text("Other.")
    library.add(folder)  # a file that vanished retires no upload of its name
    assert statuses(library)["leave.md", "2"] == "current"


def test_stores_of_an_earlier_release_put_public_versions_back_in_force(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There a version with labels superseded a public one, and one document had several labels."""
    of_schema(place, 11, monkeypatch)
    engine = backend(place).engines(create=False).writer
    version = (
        "INSERT INTO versions (document_id, key, label, title, kind, access, effective, expires, "
        "family, text, content_hash, file_date, seen, sequence, force_from, force_until, changed, "
        "kinds_by) VALUES ({0}, '{1}', '{1}', 'T', '', '{2}', NULL, NULL, '{3}', 'Text {1}.', "
        "'h{1}', '2026-01-0{1}', '2026-01-0{1}', {1}, '{4}', '{5}', {1}, '')"
    )
    with engine.begin() as connection:
        for name in ("old.md", "new.md", "mixed.md"):
            connection.execute(
                text(
                    "INSERT INTO documents (collection, name, root, stamp) "
                    f"VALUES ('default', '{name}', '/docs', 's')"
                )
            )
        for row in (
            (1, 1, "[]", "id:x", "0001-01-01", "2026-01-02"),  # superseded by the next
            (2, 2, '["hr"]', "id:x", "2026-01-02", "9999-12-31"),
            (3, 3, '["hr"]', "file:mixed.md", "0001-01-01", "2026-01-04"),
            (3, 4, "[]", "file:mixed.md", "2026-01-04", "9999-12-31"),
        ):
            connection.exec_driver_sql(version.format(*row))
    engine.dispose()
    store = Store.open(place, index=str(tmp_path / "index"))
    assert force(store.versions()) == [(date.min, date.max), (date.min, date.max)]
    found = {(one.document, one.version): one for one in store.versions()}
    assert found["new.md", "2"].status(today()) == "current"
    replaced = found["mixed.md", "3"]
    assert (replaced.access, replaced.retired_on) == (HR, date(2026, 1, 4))
    assert store.text("default", "mixed.md", "4", PUBLIC) == "Text 4."
    changed = store.last_change()
    store.close()
    again = Store.open(place, index=str(tmp_path / "index"))
    assert again.last_change() == changed > 4  # computed once, and the index follows
    again.close()
