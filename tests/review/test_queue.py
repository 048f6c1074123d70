"""The queue: what enters it, its order, filters and counts, and that it follows from the log."""

from __future__ import annotations

import json
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import delete, select, update

from suffice.access.visibility import Reader
from suffice.errors import ReviewError, StoreError
from suffice.lab.monitor.series import decision_index
from suffice.log.decision import Filing
from suffice.log.follower import Cursor, write_cursor
from suffice.log.index import add_scopes
from suffice.log.log import Log, Why
from suffice.log.tables import RECORDS
from suffice.review import decisions
from suffice.review.actions import Assign, Prioritize, Priority
from suffice.review.case import Act, Rating, State
from suffice.review.decisions import Decisions
from suffice.review.queue import CASES, CaseFilter, Order, Queue, _narrowed, _order
from suffice.review.review import Review
from suffice.settings import RecordSettings
from suffice.types import Action, Level, Retrieved
from tests.review import examples as some

FIRST = CaseFilter(order=Order.PRIORITY)
STAFF, NOBODY = Reader(frozenset({"staff"})), Reader()


def ids(review: Review, wanted: CaseFilter = FIRST, reader: Reader | None = None) -> list[str]:
    return [case.entry.id for case in review.queue(wanted, reader=reader)]


def test_what_enters_the_queue_and_in_which_order(review: Review) -> None:
    sampled = some.at_rate(review, 1).log.write(some.SERVED)
    conflict = review.log.write(replace(some.SERVED, action=Action.CONFLICT))
    held = review.log.write(some.HELD)
    gate = replace(some.GATE, level=Level.CONFLICT)
    alone = review.log.write_gate(some.EVIDENCE, gate)
    served = review.log.write(some.SERVED)
    assert ids(review) == [held, conflict, alone, sampled]
    assert ids(review, CaseFilter()) == [alone, held, conflict, sampled]
    assert ids(review, CaseFilter(order=Order.OLDEST)) == [sampled, conflict, held, alone]
    assert review.case(conflict).why == (Why.CONFLICT,)
    review.feedback(served, Rating.UP)
    assert not review.case(served).queued
    review.feedback(served, Rating.DOWN, "It is 3.", by="carol")
    review.feedback(served, Rating.DOWN)
    assert ids(review) == [held, served, conflict, alone, sampled]
    case = review.case(served)
    assert (case.why, case.probability, case.priority) == ((Why.FEEDBACK,), None, Priority.HIGH)
    assert ids(review, CaseFilter(why=Why.FEEDBACK)) == [served]


def test_negative_feedback_raises_what_is_queued_already(review: Review) -> None:
    sampling = some.at_rate(review, 1)
    first, second = sampling.log.write(some.SERVED), sampling.log.write(some.SERVED)
    assert ids(review) == [first, second]
    review.feedback(second, Rating.DOWN)
    assert ids(review) == [second, first]
    case = review.case(second)
    assert case.why == (Why.SAMPLED, Why.FEEDBACK)
    assert case.probability == 1.0  # it was drawn at random, whatever users say


def test_states_filters_and_counts(review: Review) -> None:
    a, b, c, d = (review.log.write(some.HELD) for _ in range(4))
    review.act(b, Assign("Ada"), by="Bob")
    review.act(c, Prioritize(Priority.LOW), by="Bob")
    review.decide(d, Act.DISMISS, reason="A test.", by="Bob")
    assert ids(review) == [a, b, c]
    assert [review.case(id).state for id in (a, b, c, d)] == [
        "open",
        "assigned",
        "open",
        "dismissed",
    ]
    assert ids(review, CaseFilter(state=State.ASSIGNED)) == [b]
    assert ids(review, CaseFilter(assignee="Ada")) == [b]
    assert ids(review, CaseFilter(priority=Priority.LOW)) == [c]
    assert ids(review, CaseFilter(state=State.DISMISSED)) == [d]
    assert ids(review, replace(FIRST, skip=1)) == [b, c]
    counts = review.counts()
    assert counts.states == {"open": 2, "assigned": 1, "dismissed": 1}
    assert (counts.waiting, counts.why, counts.assignees) == (3, {"review": 3}, {"Ada": 1})
    review.act(b, Assign(""), by="Ada")
    assert review.case(b).state is State.OPEN
    review.decide(d, Act.CONFIRM, reason="Rightly held.", by="Ada")
    assert review.case(d).state is State.DECIDED


def test_the_next_case_is_the_one_after_and_then_the_first(review: Review) -> None:
    a, b, c = (review.log.write(some.HELD) for _ in range(3))
    assert [review.next(id, FIRST) for id in (a, b, c)] == [b, c, a]
    review.decide(b, Act.DISMISS, reason="x", by="Ada")
    assert [review.next(id, FIRST) for id in (a, b, c)] == [c, c, a]
    assert review.next(review.log.write(some.SERVED), FIRST) == a
    review.decide(a, Act.DISMISS, reason="x", by="Ada")
    assert review.next(c, FIRST) == ""


def test_a_reader_sees_and_counts_only_what_it_may_read(review: Review) -> None:
    secret = review.log.write(some.labelled(some.HELD, "staff"))
    other = review.log.write(some.labelled(some.HELD, "staff", "sales"))
    public = review.log.write(some.HELD)
    only = Reader(frozenset({"staff"}), frozenset({"default"}))
    assert ids(review, reader=STAFF) == [secret, other, public]
    assert ids(review, reader=only) == [secret, public]
    assert ids(review, reader=NOBODY) == [public]
    assert review.counts(NOBODY).states == {"open": 1}
    assert review.counts(only).waiting == 2
    assert review.next(public, FIRST, NOBODY) == ""
    with pytest.raises(StoreError, match="There is no record"):
        review.act(secret, Assign("Eve"), by="Eve", reader=NOBODY)


def test_the_table_holds_nothing_of_an_erased_case(review: Review) -> None:
    id = review.log.write(some.HELD, filing=Filing("alice"))
    review.act(id, Assign("Ada"), by="Ada")
    assert review.counts().assignees == {"Ada": 1}
    review.log.eraser.subject("alice")
    assert review.counts().assignees == {}
    assert ids(review) == [id]
    assert ids(review, reader=STAFF) == []  # whose it is can no longer be told
    assert review.case(id).why == ("erased",)


def test_a_lost_table_is_made_again_from_the_log(review: Review) -> None:
    kept = [review.log.write(some.HELD) for _ in range(5)]
    review.act(kept[1], Prioritize(Priority.URGENT), by="Ada")
    review.decide(kept[0], Act.CONFIRM, reason="x", by="Ada")
    before = ids(review), review.counts()
    with review.log.database.writing() as connection:
        connection.execute(delete(CASES))
        write_cursor(connection, Queue.name, Cursor())
    assert (ids(review), review.counts()) == before


def test_a_long_log_is_read_in_portions(review: Review, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Queue, "portion", 2)
    kept = [review.log.write(some.HELD) for _ in range(4)]
    review.decide(kept[0], Act.CONFIRM, reason="x", by="Ada")
    assert ids(review) == kept[1:]
    review.log.write(some.SERVED)
    assert ids(review) == kept[1:]


def test_looking_from_many_threads_never_loses_a_decision(
    review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Queue, "portion", 3)  # many steps that can meet
    kept = [review.log.write(some.HELD) for _ in range(8)]
    with ThreadPoolExecutor(4) as threads:
        looks: list[Future[Any]] = [threads.submit(review.counts) for _ in range(8)]
        for id in kept[::2]:
            looks.append(threads.submit(review.decide, id, Act.CONFIRM, reason="x", by="Ada"))
            looks.append(threads.submit(review.counts))
        for look in looks:
            look.result()
    assert ids(review) == kept[1::2]
    assert review.counts().states == {"open": 4, "decided": 4}


def test_a_case_may_have_very_many_labels(review: Review) -> None:
    labels = frozenset(f"project-{n}-{sha256(str(n).encode()).hexdigest()}" for n in range(400))
    passage = replace(some.REMOTE, access=labels)
    evidence = replace(some.EVIDENCE, items=(Retrieved(passage, 0.8),))
    id = review.log.write(replace(some.HELD, evidence=evidence))
    mine = Reader(frozenset({min(labels)}))
    assert ids(review, reader=mine) == [id]
    assert review.counts(mine).waiting == 1
    assert ids(review, reader=NOBODY) == []
    assert review.counts(NOBODY).waiting == 0


def test_a_damaged_decision_is_queued_but_only_for_those_who_see_all(review: Review) -> None:
    damaged, whole = review.log.write(some.HELD), review.log.write(some.HELD)
    with review.log.database.writing() as connection:
        chosen = RECORDS.c.id == damaged
        payload = str(connection.scalar(select(RECORDS.c.payload).where(chosen)))
        broken = payload.replace(" passages [", " passages {", 1)
        assert broken != payload
        connection.execute(update(RECORDS).where(chosen).values(payload=broken))
    assert review.counts().waiting == 2
    assert review.counts(STAFF).waiting == 1
    assert ids(review, reader=STAFF) == [whole]


def test_a_reader_may_have_more_scopes_than_a_statement_has_parameters(review: Review) -> None:
    id = review.log.write(some.labelled(some.HELD, "staff"))
    scopes = [json.dumps([["default", ["staff", f"label-{n}"]]]) for n in range(70_000)]
    with review.log.database.writing() as connection:
        add_scopes(connection, scopes)
    decision_index(review.log.database, 0.3).catch_up()
    house = Reader(frozenset({"staff"}), frozenset({"default"}))
    assert ids(review, reader=house) == [id]
    assert ids(review, reader=Reader(collections=frozenset({"default"}))) == []
    found = Decisions(review.log).page(decisions.DecisionFilter(text="remotely"), house)
    assert [row.id for row in found.rows] == [id]


@pytest.mark.parametrize("order", Order)
def test_the_waiting_cases_are_read_in_order_from_an_index(tmp_path: Path, order: Order) -> None:
    log = Log.open(tmp_path / "s.db", create=True)
    asked = _narrowed(select(CASES.c.record), CaseFilter(order=order), None).order_by(
        *_order(order)
    )
    with log.database.reading() as connection:
        written = asked.limit(20).compile(connection, compile_kwargs={"literal_binds": True})
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {written}").all()
    lines = [row.detail for row in plan]
    assert any("USING" in line and "review_cases_" in line for line in lines), lines
    assert not any("TEMP B-TREE" in line for line in lines), lines
    log.close()
    log.database.close()


STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([*Act, "assign", "unassign", "urgent", "down", "look"]),
    ),
    max_size=12,
)


@given(STEPS)
@hypothesis_settings(max_examples=40)
def test_a_decided_case_is_never_open_again(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]]
) -> None:
    log = Log.open(
        tmp_path_factory.mktemp("s") / "s.db", RecordSettings(review_borderline=0), create=True
    )
    review = Review(log)
    kept = [log.write(one) for one in (some.HELD, some.HELD, some.SERVED)]
    waiting, decided = set(kept[:2]), set()
    for n, step in steps:
        id = kept[n]
        if step in tuple(Act):
            try:
                review.decide(id, Act(step), reason="x", by="Ada", text="3 days.")
            except ReviewError:
                continue
            decided.add(id)
        elif step == "down":
            review.feedback(id, Rating.DOWN)
            waiting.add(id)
        elif step == "look":
            review.counts()
        elif step == "urgent":
            review.act(id, Prioritize(Priority.URGENT), by="Ada")
        else:
            review.act(id, Assign("Ada" if step == "assign" else ""), by="Ada")
    assert set(ids(review)) == waiting - decided
    for id in decided:
        assert review.case(id).state in (State.DECIDED, State.DISMISSED)
    assert review.counts().waiting == len(waiting - decided)
    log.close()
    log.database.close()
