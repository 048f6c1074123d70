"""Whoever may not read one of a record's passages does not learn of the record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.access.keys import Principal, Role
from suffice.access.visibility import Reader
from suffice.errors import StoreError
from suffice.lab.monitor.series import decision_index
from suffice.log.log import Log
from suffice.log.record import Record
from suffice.review.decisions import DecisionFilter, Decisions
from suffice.review.documents import citations
from suffice.review.review import Review
from suffice.sql.database import Database
from suffice.types import Citation, Evidence, Level, Passage, Retrieved, Source
from tests.log import examples as some

SECRET = replace(some.LEAVE, id="pay@1#0-9", text="Pay is 900.", document="pay.md", title="Wages")
OPEN = Passage("open@1#0-9", "Doors open at 9.", "open.md", title="Doors")
STAFF, NOBODY = Reader(frozenset({"staff"})), Reader()
AUDITOR = Reader(audits=True)


@pytest.fixture
def log(place: str) -> Iterator[Log]:
    database = Database.open(place, create=True)
    opened = Log(database)
    yield opened
    opened.close()
    database.close()


def test_who_lacks_a_label_of_one_passage_does_not_know_of_the_record(log: Log) -> None:
    id = log.write(some.VERDICT, some.TRACE)
    number = str(log.entry(id).sequence)
    for reader in (NOBODY, AUDITOR):
        assert not reader.may_know(log.entry(id))
        for name in (id, number, f"{id}.queue", f"{number}.queue", "nothing"):
            with pytest.raises(StoreError) as missing:
                Review(log).case(name, reader)
            assert str(missing.value).replace(name, "nothing").startswith("There is no record '")
    assert STAFF.may_know(log.entry(id))
    assert Review(log).case(id, STAFF).verdict == Review(log).case(id).verdict


def test_a_number_finds_a_record_for_those_who_audit_the_log(log: Log) -> None:
    """The number of a record tells how many others there are."""
    id = log.write(replace(some.VERDICT, evidence=Evidence("When?", (Retrieved(OPEN, 0.9),))))
    number = str(log.entry(id).sequence)
    holder = Reader(frozenset({"staff"}), audits=True)
    assert Review(log).case(number, holder).entry.id == id
    for name in (number, f"{number}.queue"):
        with pytest.raises(StoreError, match="There is no record"):
            Review(log).case(name, STAFF)


def test_a_record_of_another_kind_is_no_other_fault(log: Log) -> None:
    upload = Record("document", {"act": "upload", "document": "pay.md"}, "ada")
    log.append(upload)
    told = []
    for name in (upload.id, "nothing"):
        with pytest.raises(StoreError) as missing:
            Review(log).case(name, STAFF)
        told.append(str(missing.value).replace(name, ""))
    assert told[0] == told[1]


def test_what_was_found_and_not_counted_hides_as_well(log: Log) -> None:
    found = Evidence("Why?", (Retrieved(SECRET, 0.6), Retrieved(OPEN, 0.5)))
    counted = replace(found, items=found.items[1:])
    gate = replace(some.GATE, excluded=(), conflicts=())
    id = log.write_gate(counted, gate, replace(some.TRACE, found=found, earlier=()))
    assert not NOBODY.may_know(log.entry(id))


def test_collections_count_too() -> None:
    labels = frozenset({"staff"})
    assert Reader(labels, frozenset({"hr"})).may_read(some.LEAVE)
    assert not Reader(labels, frozenset({"default"})).may_read(some.LEAVE)
    one = Principal("1", "one", labels=labels, collections=frozenset({"hr"}))
    assert Reader.of(one) == Reader(labels, frozenset({"hr"}))


def test_only_an_admin_for_all_collections_audits_the_log() -> None:
    for role in Role:
        of_all = Reader.of(Principal("1", "one", frozenset({role})))
        assert of_all.audits is (role is Role.ADMIN)
        of_one = Reader.of(Principal("1", "one", frozenset({role}), collections=frozenset({"hr"})))
        assert not of_one.audits


@given(st.sets(st.sampled_from("abc")), st.lists(st.sets(st.sampled_from("abc")), max_size=4))
def test_all_passages_must_be_readable(held: set[str], access: list[set[str]]) -> None:
    allowed = all(not labels or labels & held for labels in access)
    assert Reader(frozenset(held)).may_use_all(("default", labels) for labels in access) is allowed
    scoped = Reader(frozenset(held), frozenset({"default"}))
    pairs = [("default", labels) for labels in access]
    assert scoped.may_use_all(pairs) is (allowed and bool(pairs))


def test_gaps_are_those_that_a_reader_may_know(log: Log) -> None:
    evidence = Evidence("Pay?", (Retrieved(SECRET, 0.6), Retrieved(OPEN, 0.5)))
    near = (Source("pay.md", "Wages", "2"), Source("open.md", "Doors", ""))
    gate = replace(some.GATE, level=Level.INSUFFICIENT, conflicts=(), excluded=())
    log.write(replace(some.GAP, question="Pay?", evidence=evidence, gate=gate, nearest=near))
    review = Review(log)
    for reader in (None, STAFF):
        (gap,) = review.gaps(reader=reader)
        assert [source.document for source in gap.nearest] == ["pay.md", "open.md"]
    assert review.gaps(reader=NOBODY) == []
    log.eraser.before(datetime(2999, 1, 1, tzinfo=UTC), names=["passages"])
    assert review.gaps(reader=STAFF) == []  # whose it is can no longer be told
    assert len(review.gaps(reader=AUDITOR)) == 1


def test_citations_of_a_public_document_count_no_hidden_decision(log: Log) -> None:
    gate = replace(some.GATE, excluded=(), conflicts=())
    for passages in ((OPEN,), (OPEN, SECRET)):
        items = tuple(Retrieved(one, 0.9) for one in passages)
        cited = tuple(Citation(n, one, one.text) for n, one in enumerate(passages, 1))
        verdict = replace(some.VERDICT, evidence=Evidence("When?", items), gate=gate)
        log.write(replace(verdict, draft=None, attempts=(), findings=(), citations=cited))
    decision_index(log.database, 0.3).catch_up()
    with log.database.reading() as connection:
        counts = {
            reader: citations(connection, "default", ["open.md"], reader)["open.md"][""]
            for reader in (None, STAFF, NOBODY)
        }
    assert [(one.used, one.cited) for one in counts.values()] == [(2, 2), (2, 2), (1, 1)]
    assert counts[None] == counts[STAFF]
    assert counts[NOBODY].last_cited == Decisions(log).page(DecisionFilter(), NOBODY).rows[0].time
