"""One contract for both databases: the review queue, decisions and feedback."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import not_, select

from suffice.access.visibility import Reader
from suffice.errors import LabelsError, ReviewError, StoreError
from suffice.log.decision import Decision, Filing, decision_of
from suffice.log.log import Log, Why
from suffice.log.setup import Setup
from suffice.log.stored import RecordFilter, has_record_about, subject_in
from suffice.log.tables import RECORDS
from suffice.log.trace import Trace
from suffice.review.case import DECIDED, Act, Rating
from suffice.review.queue import CaseFilter
from suffice.review.review import Review
from suffice.settings import RecordSettings
from suffice.types import Action, Evidence, Level, Passage, Retrieved, Signal, Verdict
from suffice.verdict.decide import overridden
from tests.log import examples as some

FAR = replace(some.GATE, signals=(Signal("enough", 0.62, 0.3),))
SERVED = replace(some.VERDICT, gate=FAR)
HELD = replace(SERVED, action=Action.REVIEW, released="", citations=())
SHUT = replace(FAR, level=Level.INSUFFICIENT)
GAP = replace(some.GAP, gate=SHUT)


@pytest.fixture
def log(place: str) -> Iterator[Log]:
    opened = Log.open(
        place, RecordSettings(review_sample=0, review_borderline=0), create=True, wait=60
    )
    yield opened
    opened.close()
    opened.database.close()


@pytest.fixture
def review(log: Log) -> Review:
    return Review(log)


def sampling(review: Review) -> Review:
    """The same store, with every answer sampled."""
    return Review(Log(review.log.database, RecordSettings(review_sample=1, review_borderline=0)))


def ids(review: Review, wanted: CaseFilter | None = None, most: int = 20) -> list[str]:
    return [case.entry.id for case in review.queue(wanted, most)]


def test_what_is_left_to_a_person_waits_until_somebody_decides(review: Review) -> None:
    review.log.write(SERVED)
    review.log.write(GAP)
    first, second = review.log.write(HELD), review.log.write(HELD)
    gate = review.log.write_gate(some.COUNTED, replace(FAR, level=Level.REVIEW))
    assert ids(review) == [gate, second, first]
    assert review.case(first).open
    review.decide(second, Act.CONFIRM, reason="Rightly held.", by="Ada")
    review.decide(gate, Act.DISMISS, reason="A test.", by="Ada")
    assert ids(review) == [first]
    assert ids(review, CaseFilter(all=True)) == [gate, second, first]
    assert not review.case(second).open
    assert review.log.verify(deep=True).whole


def test_pages_and_reasons_of_the_queue(review: Review) -> None:
    held = [review.log.write(HELD) for _ in range(5)]
    served = sampling(review).log.write(SERVED)
    assert ids(review, most=2) == [served, held[4]]
    place = review.log.entry(f"{held[4]}.queue")
    assert ids(review, CaseFilter(before=place.sequence), most=2) == [held[3], held[2]]
    assert ids(review, CaseFilter(why=Why.SAMPLED)) == [served]
    assert ids(review, CaseFilter(why=Why.BORDERLINE)) == []
    assert review.case(served).probability == 1.0


def test_an_answer_is_released_withdrawn_and_released_again(review: Review) -> None:
    id = review.log.write(HELD, filing=Filing("alice", "case-1"))
    done = review.decide(id, Act.RELEASE, reason="The source says so.", by="Ada")
    entry = review.log.entry(done)
    assert (entry.kind, entry.caller, entry.tag) == ("override", "Ada", "case-1")
    assert entry.fields() == {"record": id, "reason": "The source says so."}
    out = review.case(id).verdict
    assert out is not None
    assert (out.action, out.released) == (Action.CAVEAT, HELD.draft.text)  # type: ignore[union-attr]
    assert out.notes[-1] == "Released by Ada: The source says so."
    assert out.reason.startswith("A person released this answer.")
    assert [citation.n for citation in out.citations] == [1]
    with pytest.raises(ReviewError, match="already released"):
        review.decide(id, Act.RELEASE, reason="x", by="Ada")
    review.decide(id, Act.WITHDRAW, reason="Last year's.", by="Bob")
    gone = review.case(id).verdict
    assert gone is not None
    assert (gone.action, gone.released, gone.citations) == (Action.WITHHOLD, "", ())
    with pytest.raises(ReviewError, match="no released answer"):
        review.decide(id, Act.WITHDRAW, reason="x", by="Ada")
    review.decide(id, Act.RELEASE, reason="It is not.", by="Ada")
    again = review.case(id).verdict
    assert again is not None
    assert again.released
    assert [one.act for one in review.case(id).decided] == ["release", "withdraw", "release"]
    assert decision_of(review.log.entry(id)).verdict == HELD  # what was recorded stays
    assert review.log.verify(deep=True).whole


def test_a_served_answer_is_withdrawn_though_nobody_asked(review: Review) -> None:
    id = review.log.write(SERVED)
    assert not review.case(id).queued
    review.decide(id, Act.WITHDRAW, reason="Wrong.", by="Ada")
    verdict = review.case(id).verdict
    assert verdict is not None
    assert not verdict.served
    review.decide(id, Act.RELEASE, reason="Right after all.", by="Ada")
    verdict = review.case(id).verdict
    assert verdict is not None
    assert (verdict.action, verdict.released) == (Action.CAVEAT, SERVED.released)


def writes(decision: Decision, note: str) -> tuple[Verdict, Trace]:
    return overridden(replace(SERVED, action=Action.SERVE), note), decision.trace


@pytest.mark.parametrize("alone", [True, False])
def test_a_shut_gate_is_opened(review: Review, alone: bool) -> None:
    log = review.log
    id = log.write_gate(some.COUNTED, SHUT) if alone else log.write(GAP)
    verdict, made = review.open(id, writes, reason="It is in there.", by="Ada")
    assert verdict.action is Action.CAVEAT
    assert f"Gate opened by Ada: It is in there. (record {id})" in verdict.notes
    assert decision_of(log.entry(made)).verdict == verdict
    (decided,) = review.case(id).decided
    assert (decided.act, decided.result, decided.by) == (Act.OPEN, made, "Ada")
    assert review.log.entry(decided.id).sequence == log.entry(made).sequence + 1
    assert "sampling" not in log.entry(made).fields()  # a person saw it: it is no sample
    assert log.verify().whole


def test_what_does_not_fit_is_refused(review: Review) -> None:
    served, shut = review.log.write(SERVED), review.log.write(GAP)
    held = review.log.write(HELD)
    for id in (served, held):
        with pytest.raises(ReviewError, match="already open"):
            review.open(id, writes, reason="x", by="Ada")
    with pytest.raises(ReviewError, match=r"decide \w+ open"):
        review.decide(shut, Act.RELEASE, reason="x", by="Ada")
    with pytest.raises(ReviewError, match=r"Review\.open"):
        review.decide(shut, Act.OPEN, reason="x", by="Ada")
    with pytest.raises(ReviewError, match="a reason"):
        review.decide(served, Act.WITHDRAW, reason=" \n", by="Ada")
    with pytest.raises(ReviewError, match="a name"):
        review.decide(served, Act.WITHDRAW, reason="x", by="")
    with pytest.raises(ReviewError, match="10,001"):
        review.decide(served, Act.CONFIRM, reason="x" * 10_001, by="Ada")
    assert review.log.page(RecordFilter(kind="override")) == []


def test_feedback_is_a_record_of_its_own(review: Review) -> None:
    id = review.log.write(SERVED, filing=Filing("alice"))
    kept = review.feedback(id, Rating.DOWN, "It is 20 weeks, ask bob@example.org", by="carol")
    review.feedback(id, Rating.UP)
    entry = review.log.entry(kept)
    assert (entry.kind, entry.caller, entry.tag) == ("feedback", "carol", "alice")
    down, up = review.case(id).feedback
    assert (down.rating, down.by) == (Rating.DOWN, "carol")
    assert down.comment == "It is 20 weeks, ask xxx@xxxxxxx.xxx"
    assert (up.rating, up.comment, up.by) == (Rating.UP, "", "")
    assert review.feedback(kept, Rating.UP).startswith(f"{id}.feedback.")  # about the decision
    with pytest.raises(ReviewError, match="at most"):
        review.feedback(id, Rating.UP, "x" * 10_001)


@pytest.mark.parametrize("name", ["nothing", "", "\0", "\ud800", "9" * 30, "17", "a.b.c", "."])
def test_an_unknown_record_is_told(review: Review, name: str) -> None:
    for act in (
        lambda: review.feedback(name, Rating.UP),
        lambda: review.case(name),
        lambda: review.decide(name, Act.CONFIRM, reason="x", by="Ada"),
    ):
        with pytest.raises(StoreError, match="There is no record"):
            act()


def test_a_record_without_a_decision_is_told(review: Review) -> None:
    note = some.note()
    review.log.append(note)
    with pytest.raises(StoreError, match="kind 'note'"):
        review.feedback(note.id, Rating.UP)


HR, SALES = (Reader(frozenset({"staff"}), frozenset({name})) for name in ("hr", "sales"))
OTHER = Passage("deal@1#0-9", "A deal.", "deal.md", collection="sales")
NO_LABEL = Reader(frozenset(), frozenset({"hr", "default"}))
WHOLE = Reader(frozenset({"staff"}), frozenset({"hr", "default"}))


def test_nobody_decides_on_what_it_may_not_read(review: Review) -> None:
    id = review.log.write(some.VERDICT, some.TRACE)
    said: Any = {"reason": "I say so.", "by": "Eve"}
    # One of its passages is of another collection, or of a label that is not held: to this reader,
    # there is no such record.
    for reader in (HR, NO_LABEL, SALES):
        calls: tuple[Any, ...] = (
            lambda reader=reader: review.case(id, reader),
            *(
                lambda act=act, reader=reader: review.decide(id, act, reader=reader, **said)
                for act in (Act.CONFIRM, Act.DISMISS, Act.WITHDRAW)
            ),
            lambda reader=reader: review.open(id, writes, reader=reader, **said),
            lambda reader=reader: review.feedback(id, Rating.UP, reader=reader),
        )
        for call in calls:
            with pytest.raises(StoreError, match="There is no record"):
                call()
    assert review.case(id).decided == ()
    assert review.decide(id, Act.CONFIRM, reader=WHOLE, **said)


def test_the_queue_is_that_of_ones_collections(review: Review) -> None:
    held = replace(some.VERDICT, action=Action.REVIEW, released="")
    mine = [review.log.write(held, some.TRACE) for _ in range(3)]
    other = replace(some.COUNTED, items=(Retrieved(OTHER, 0.5),))
    bare = replace(some.GATE, excluded=(), conflicts=())
    theirs = replace(held, evidence=other, gate=bare, draft=None, attempts=(), findings=())
    theirs = replace(theirs, citations=())
    review.log.write(theirs, Trace(other))
    assert len(review.queue()) == 4
    assert [case.entry.id for case in review.queue(reader=WHOLE)] == mine[::-1]
    assert [case.entry.id for case in review.queue(most=1, reader=WHOLE)] == mine[-1:]
    assert review.counts(WHOLE).waiting == 3
    for some_of_it in (HR, NO_LABEL):  # they could not decide
        assert review.queue(reader=some_of_it) == []
        assert review.counts(some_of_it).waiting == 0
    assert len(review.queue(reader=SALES)) == 1
    assert review.queue(reader=Reader(frozenset({"staff"}), frozenset())) == []
    review.log.eraser.before(datetime(2999, 1, 1, tzinfo=UTC), names=["passages"])
    assert review.queue(reader=WHOLE) == []  # whose they are can no longer be told


def test_gaps_are_those_of_ones_collections(review: Review) -> None:
    review.log.write(some.GAP, some.TRACE)
    assert len(review.gaps()) == len(review.gaps(reader=WHOLE)) == 1
    assert review.gaps(reader=HR) == review.gaps(reader=SALES) == []


def test_errors_are_estimated_from_those_that_were_chosen(review: Review) -> None:
    chosen = [sampling(review).log.write(SERVED) for _ in range(4)]
    others = Review(
        Log(review.log.database, RecordSettings(review_sample=1e-12, review_borderline=0))
    )
    missed = [others.log.write(SERVED) for _ in range(4)]
    review.log.write(HELD)
    for id, act in zip(chosen, (Act.WITHDRAW, Act.CONFIRM, Act.DISMISS, Act.CONFIRM), strict=True):
        review.decide(id, act, reason="Looked at.", by="Ada")
    review.decide(missed[0], Act.WITHDRAW, reason="A user told us.", by="Ada")
    found = review.errors()
    assert (found.population, found.drawn, found.judged, found.wrong) == (8, 4, 3, 1)
    assert found.low == 1 / 8
    assert found.high == 6 / 8
    review.decide(chosen[1], Act.WITHDRAW, reason="On second thoughts.", by="Ada")
    review.decide(chosen[0], Act.RELEASE, reason="On second thoughts.", by="Ada")
    assert review.errors().wrong == 1
    never = datetime(2000, 1, 1, tzinfo=UTC).isoformat()
    assert review.errors(RecordFilter(until=never)).population == 0


def test_gaps_are_grouped_by_what_was_asked(review: Review) -> None:
    asked = ("Who is king?", "who is  King", "Why?", "Who is king?!")
    ids = [review.log.write(replace(GAP, question=q, evidence=Evidence(q))) for q in asked]
    king, why = review.gaps()
    assert (king.question, king.count, king.records) == (
        "Who is king?!",
        3,
        (ids[3], ids[1], ids[0]),
    )
    assert (why.question, why.count) == ("Why?", 1)
    assert review.log.entry(f"{ids[0]}.gap").fields()["record"] == ids[0]
    assert [gap.question for gap in review.gaps(most=1)] == ["Who is king?!"]
    review.decide(ids[2], Act.CONFIRM, reason="We have nothing on that.", by="Ada")
    assert len(review.gaps()) == 2
    review.decide(ids[2], Act.DISMISS, reason="Nonsense.", by="Ada")
    assert [gap.count for gap in review.gaps()] == [3]
    review.open(ids[0], writes, reason="There is.", by="Ada")
    assert [gap.count for gap in review.gaps()] == [2]


def test_what_was_erased_or_never_stored_is_said_so(review: Review) -> None:
    id = review.log.write(HELD, filing=Filing("alice"))
    review.feedback(id, Rating.UP, "Thanks", by="alice")
    review.decide(id, Act.CONFIRM, reason="alice is right", by="Ada")
    review.log.eraser.subject("alice")
    case = review.case(id)
    assert case.recorded is None
    assert "is incomplete" in case.lacking
    assert case.decided[0].act is Act.CONFIRM  # that it was decided stays; what was said of it goes
    assert (case.decided[0].reason, case.feedback[0].rating) == ("", None)
    with pytest.raises(ReviewError, match="is incomplete"):
        review.decide(id, Act.RELEASE, reason="x", by="Ada")
    bare = Review(
        Log(review.log.database, RecordSettings(omit_fields=("question", "drafts", "reason")))
    )
    kept = bare.log.write(HELD)
    bare.decide(kept, Act.DISMISS, reason="Secret.", by="Ada")
    assert "Secret" not in review.log.page(RecordFilter(kind="review"))[0].payload
    assert review.case(kept).decided[0].reason == ""
    assert review.log.verify(deep=True).whole


def test_a_decision_moved_to_another_record_is_seen(review: Review) -> None:
    id, other = review.log.write(HELD), review.log.write(HELD)
    done = review.decide(id, Act.RELEASE, reason="x", by="Ada")
    with review.log.database.writing() as connection:
        moved = done.replace(id, other)
        connection.exec_driver_sql(f"UPDATE records SET id = '{moved}' WHERE id = '{done}'")
    assert not review.log.verify().whole


def test_what_concerns_a_record_is_found_by_its_id_however_much_was_decided(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "s.db", create=True)
    open_ = not_(has_record_about(subject_in(RECORDS, ".queue"), DECIDED))
    asked = select(RECORDS.c.id).where(RECORDS.c.kind == "queue", open_)
    with log.database.reading() as connection:
        written = asked.compile(connection, compile_kwargs={"literal_binds": True})
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {written}").all()
    inner = [row.detail for row in plan if "records_1" in row.detail or "anon" in row.detail]
    assert inner
    assert all("(id>? AND id<?)" in line for line in inner), plan
    log.close()
    log.database.close()


def at_rate(review: Review, rate: float) -> Review:
    return Review(Log(review.log.database, RecordSettings(review_sample=rate, review_borderline=0)))


def test_the_export_states_the_smallest_probability_drawn_or_not(review: Review) -> None:
    filing = Setup().filing()
    sampling(review).log.write(SERVED, filing=filing)
    (row,) = sampling(review).labels()
    assert (row["probability"], row["least_probability"]) == (1.0, 1.0)
    (row,) = at_rate(review, 0.25).labels()
    assert row["least_probability"] == 0.25  # configured, although no answer had it yet
    at_rate(review, 1e-12).log.write(SERVED, filing=filing)
    (row,) = sampling(review).labels()
    assert (row["probability"], row["least_probability"]) == (1.0, 1e-12)


def test_an_export_is_refused_if_a_served_answer_could_not_be_drawn(review: Review) -> None:
    filing = Setup().filing()
    sampling(review).log.write(SERVED, filing=filing)
    ungated = replace(SERVED, gate=replace(FAR, policy="none"))
    review.log.write(ungated, filing=filing)  # not covered by a certificate anyway
    assert len(review.labels()) == 1
    id = review.log.write(SERVED, filing=filing)
    with pytest.raises(LabelsError, match=id) as caught:
        review.labels()
    assert "record.review_sample" in caught.value.remedy
    assert review.labels(RecordFilter(before=review.log.entry(id).sequence))
