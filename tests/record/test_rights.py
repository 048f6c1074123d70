"""A reader sees no content based on passages whose labels it does not hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from suffice.access.keys import Principal
from suffice.access.visibility import NOT_SHOWN, Reader, seen
from suffice.record.codec import plain
from suffice.record.decision import Decision
from suffice.record.log import Log
from suffice.record.trace import Trace
from suffice.review.review import Review
from suffice.types import Evidence, Level, Passage, Retrieved, Source
from tests.record import examples as some

SECRET = replace(some.LEAVE, id="pay@1#0-9", text="Pay is 900.", document="pay.md", title="Wages")
OPEN = Passage("open@1#0-9", "Doors open at 9.", "open.md", title="Doors")
STAFF, NOBODY = Reader(frozenset({"staff"})), Reader()


def said(decision: Decision, reader: Reader | None) -> str:
    return str(plain(seen(decision, decision.verdict, reader)))


def decision() -> Decision:
    return Decision(some.COUNTED, some.GATE, some.TRACE, some.VERDICT)


def test_who_holds_the_labels_sees_all() -> None:
    whole = seen(decision(), some.VERDICT, STAFF)
    assert whole.hidden == 0
    assert (whole.verdict, whole.gate, whole.evidence) == (some.VERDICT, some.GATE, some.COUNTED)
    assert said(decision(), None) == said(decision(), STAFF)


def test_who_does_not_sees_nothing_that_rests_on_them() -> None:
    told = said(decision(), NOBODY)
    for word in ("18 weeks", "on leave", "Based on little", "one passage", "it differs"):
        assert word in said(decision(), STAFF)
        assert word not in told
    found = seen(decision(), some.VERDICT, NOBODY)
    assert found.hidden == 1
    assert found.verdict is not None
    assert found.verdict.nearest == ()  # the version it names is not the one that anyone may read
    assert found.verdict.reason == NOT_SHOWN
    assert found.verdict.action is some.VERDICT.action


def test_what_was_found_and_not_counted_hides_as_well() -> None:
    found = Evidence("Why?", (Retrieved(SECRET, 0.6), Retrieved(OPEN, 0.5)))
    counted = replace(found, items=found.items[1:])
    gate = replace(some.GATE, excluded=(), conflicts=())
    result = seen(Decision(counted, gate, Trace(found)), None, NOBODY)
    assert result.hidden == 1
    assert result.gate.reasons == (NOT_SHOWN,)


def test_collections_count_too() -> None:
    labels = frozenset({"staff"})
    assert Reader(labels, frozenset({"hr"})).may_read(some.LEAVE)
    assert not Reader(labels, frozenset({"default"})).may_read(some.LEAVE)
    one = Principal("1", "one", labels=labels, collections=frozenset({"hr"}))
    assert Reader.of(one) == Reader(labels, frozenset({"hr"}))


@given(st.sets(st.sampled_from("abc")), st.lists(st.sets(st.sampled_from("abc")), max_size=4))
def test_no_passage_is_seen_without_a_right_to_it(held: set[str], access: list[set[str]]) -> None:
    items = tuple(
        Retrieved(Passage(f"p{n}", f"text {n}", f"d{n}", access=frozenset(labels)), 0.5)
        for n, labels in enumerate(access)
    )
    found = Evidence("Why?", items)
    gate = replace(some.GATE, excluded=(), conflicts=())
    reader = Reader(frozenset(held))
    result = seen(Decision(found, gate, Trace(found)), None, reader)
    allowed = [n for n, labels in enumerate(access) if not labels or labels & held]
    assert [passage.id for passage in result.evidence.passages] == [f"p{n}" for n in allowed]
    assert result.hidden == len(access) - len(allowed)


def test_gaps_name_no_document_that_a_reader_may_not_know(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "s.db", create=True)
    evidence = Evidence("Pay?", (Retrieved(SECRET, 0.6), Retrieved(OPEN, 0.5)))
    near = (Source("pay.md", "Wages", "2"), Source("open.md", "Doors", ""))
    gate = replace(some.GATE, level=Level.INSUFFICIENT, conflicts=(), excluded=())
    log.write(replace(some.GAP, question="Pay?", evidence=evidence, gate=gate, nearest=near))
    review = Review(log)
    both = ["pay.md", "open.md"]
    for reader, documents in ((None, both), (STAFF, both), (NOBODY, ["open.md"])):
        (gap,) = review.gaps(reader=reader)
        assert [source.document for source in gap.nearest] == documents
    id = gap.records[0]
    shown = review.case(id, NOBODY).verdict
    assert shown is not None
    assert [source.document for source in shown.nearest] == ["open.md"]
    assert review.case(id, NOBODY).seen.hidden == 1  # type: ignore[union-attr]
    log.eraser.before(datetime(2999, 1, 1, tzinfo=UTC), names=["passages"])
    (gap,) = review.gaps(reader=STAFF)
    assert gap.nearest == ()  # whose it is can no longer be told
    log.close()
    log.database.close()
