"""Documents for a reader: what is listed, compared and expected to expire."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from suffice.access.visibility import Reader
from suffice.errors import DocumentMissing
from suffice.evidence.index import today
from suffice.evidence.library import Library
from suffice.lab.monitor.series import decision_index
from suffice.log.log import Log
from suffice.review.documents import Change, Documents, View, counts
from suffice.settings import Settings
from suffice.types import Citation, Evidence, Retrieved
from tests.lab.monitor.stream import answer

STAFF, NOBODY = Reader(frozenset({"staff"})), Reader()


def text(title: str, body: str, **declared: object) -> str:
    head = "".join(f"{name}: {value}\n" for name, value in {"title": title, **declared}.items())
    return f"---\n{head}---\n\n# {title}\n\n{body}\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library.open(tmp_path / "s.db", Settings(), create=True)
    folder = tmp_path / "docs"
    folder.mkdir()
    soon = today() + timedelta(days=20)
    late = today() + timedelta(days=4_000)
    for name, written in {
        "doors.md": text(
            "Secret doors", "Doors open at 8.", version="'1'", access="[staff]", expires=soon
        ),
        "pay.md": text("Wages", "Pay is 900.", access="[staff]", expires=soon),
        "rent.md": text("Rent", "Rent is 5.", expires=late),
    }.items():
        (folder / name).write_text(written, encoding="utf-8")
    opened.add(folder)
    (folder / "doors.md").write_text(
        text("Doors", "Doors open at 9.", version="'2'", expires=soon),
        encoding="utf-8",
    )
    opened.add(folder)
    yield opened
    opened.store.close()


def cite(library: Library, document: str) -> None:
    """Record an answer that cites a document."""
    batches = library.store.changes(0, library.embedder.id)
    passages = [one.passage for batch in batches for one in batch]
    passage = next(one for one in passages if one.document == document)
    verdict = replace(
        answer(),
        evidence=Evidence("When?", (Retrieved(passage, 0.8),)),
        citations=(Citation(1, passage, passage.text),),
    )
    log = Log(library.store.database)
    log.write(verdict)
    log.close()
    decision_index(library.store.database, 0.3).catch_up()


def names(library: Library, reader: Reader, **wanted: object) -> list[str]:
    found = Documents(library.store, reader).page("default", today(), **wanted)  # type: ignore[arg-type]
    return [one.version.document for one in found.documents]


def test_only_readable_documents_and_versions_are_listed(library: Library) -> None:
    assert names(library, STAFF) == ["doors.md", "pay.md", "rent.md"]
    assert names(library, NOBODY) == ["doors.md", "rent.md"]
    assert names(library, Reader(collections=frozenset({"other"}))) == []
    doors = Documents(library.store, NOBODY).page("default", today()).documents[0]
    assert (doors.version.title, doors.versions) == ("Doors", 1)


def test_a_title_that_one_may_not_read_finds_nothing(library: Library) -> None:
    assert names(library, STAFF, text="secret") == ["doors.md"]
    assert names(library, NOBODY, text="secret") == []
    assert names(library, NOBODY, text="DOORS") == ["doors.md"]
    assert names(library, NOBODY, text="wages") == []


def test_pages_of_documents_follow_each_other(library: Library) -> None:
    documents = Documents(library.store, STAFF)
    first = documents.page("default", today(), most=2)
    assert ([one.version.document for one in first.documents], first.more) == (
        ["doors.md", "pay.md"],
        True,
    )
    rest = documents.page("default", today(), most=2, after="pay.md")
    assert ([one.version.document for one in rest.documents], rest.more) == (["rent.md"], False)


def test_what_is_cited_and_what_never_is(library: Library) -> None:
    assert names(library, STAFF, view=View.CITED) == []
    cite(library, "rent.md")
    assert names(library, STAFF, view=View.CITED) == ["rent.md"]
    assert names(library, STAFF, view=View.NEVER) == ["doors.md", "pay.md"]
    found = Documents(library.store, NOBODY).history("default", "rent.md")
    assert (found.total.cited, found.total.used) == (1, 1)


def test_versions_are_compared(library: Library) -> None:
    documents = Documents(library.store, STAFF)
    found = documents.history("default", "doors.md")
    new, old = (one.key for one in found.versions)
    hunks = documents.difference(found, old, new)
    assert hunks is not None
    changed = {
        part.text
        for hunk in hunks
        for line in hunk
        if line.change is Change.ADDED
        for part in line.parts
        if part.changed
    }
    assert {"9", "2"} <= changed
    assert counts(hunks)[0] > 0
    assert documents.difference(found, old, "none") is None


def test_a_version_that_one_may_not_read_is_not_compared(library: Library) -> None:
    whole = Documents(library.store, STAFF).history("default", "doors.md")
    documents = Documents(library.store, NOBODY)
    found = documents.history("default", "doors.md")
    assert len(found.versions) == 1
    new, old = (one.key for one in whole.versions)
    assert documents.difference(found, old, new) is None
    with pytest.raises(DocumentMissing):
        documents.history("default", "pay.md")
    with pytest.raises(DocumentMissing):
        Documents(library.store, Reader(collections=frozenset())).history("default", "rent.md")


def test_the_calendar_tells_what_expires_within_a_year(library: Library) -> None:
    def expiring(reader: Reader, day: date) -> list[str]:
        return [one.title for one in Documents(library.store, reader).calendar(day)]

    assert expiring(STAFF, today()) == ["Doors", "Wages"]
    assert expiring(NOBODY, today()) == ["Doors"]
    after = today() + timedelta(days=30)  # the first version of the doors was replaced before
    assert expiring(STAFF, after) == ["Doors", "Wages"]
    assert expiring(STAFF, today() + timedelta(days=90)) == []
