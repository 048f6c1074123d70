"""The index of decisions: derived from the log, exact, and subject to the reader's rights."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import inspect, select, text, update

from suffice.access.visibility import Reader
from suffice.errors import StoreBusy
from suffice.lab.monitor.metrics import Metric
from suffice.lab.monitor.series import (
    Series,
    Span,
    decision_index,
    quantile,
    seconds_of,
    series,
    step_of,
)
from suffice.log.chain import timestamp
from suffice.log.decision import Filing
from suffice.log.index import DAY, HOUR, HOURS_KEPT, DecisionIndex, Indexing
from suffice.log.log import Log
from suffice.log.tables import DECISIONS, INDEX_TABLES, RECORDS, TALLIES, USES
from suffice.log.trace import Trace
from suffice.review import decisions
from suffice.review.case import Rating
from suffice.review.decisions import DecisionFilter, DecisionPage, Decisions, chosen
from suffice.review.documents import Citations, citations
from suffice.review.review import Review
from suffice.settings import RecordSettings
from suffice.sql.database import Database
from suffice.types import Action, Citation, Evidence, Passage, Retrieved, Verdict
from tests.lab.monitor.stream import START, MovingClock, answer, refusal
from tests.waiting import until

STAFF, NOBODY = Reader(frozenset({"staff"})), Reader()
AUDITOR = Reader(frozenset({"staff"}), audits=True)
PAY = Passage("pay@1#0-9", "Pay is 900.", "pay.md", "1", "Pay", access=frozenset({"staff"}))
DOORS = Passage("doors@1#0-9", "Doors open at 9.", "doors.md", "1", "Doors")
RENT = Passage("rent@1#0-9", "Rent is 5.", "rent.md", "1", "Rent", collection="house")
ALL_TIMES = (("search", 0.01), ("check", 0.3), ("other", 0.0), ("total", 0.31))


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture
def log(place: str, clock: MovingClock) -> Iterator[Log]:
    settings = RecordSettings(review_borderline=0.0, review_sample=0.0)
    opened = Log(Database.open(place, create=True), settings, clock)
    yield opened
    opened.close()
    opened.database.close()


def about(
    passage: Passage, question: str = "When?", released: str = "At 9.", *, cites: bool = True
) -> Verdict:
    found = Evidence(question, (Retrieved(passage, 0.8),))
    named = (Citation(1, passage, passage.text),) if cites else ()
    return replace(answer(question), evidence=found, released=released, citations=named)


def indexed(log: Log) -> DecisionIndex:
    made = decision_index(log.database, 0.3)
    made.catch_up()
    return made


def listed(page: DecisionPage) -> list[str]:
    return [one.question for one in page.rows]


def course(log: Log, reader: Reader | None = None, days: int = 3) -> Series:
    return series(log.database, Span.last(days, DAY, START + timedelta(days=2)), reader)


def test_the_tables_are_those_of_the_migrations(log: Log) -> None:
    with log.database.reading() as connection:
        for table in INDEX_TABLES:
            there = {
                one["name"]: one["nullable"] for one in inspect(connection).get_columns(table.name)
            }
            assert list(there) == [column.name for column in table.columns]
            assert all(there[c.name] == c.nullable for c in table.columns if not c.primary_key)


def test_verdicts_metrics_and_seconds_are_counted_by_day(log: Log, clock: MovingClock) -> None:
    trace = Trace(answer().evidence, timings=ALL_TIMES)
    log.write(answer(faithfulness=1.0), trace)
    log.write(answer(faithfulness=0.5, fabricated=True), trace)
    clock.later(days=1)
    rated = log.write(answer(faithfulness=None))
    log.write(refusal(similarity=0.1))
    Review(log).feedback(rated, Rating.DOWN)
    Review(log).feedback(rated, Rating.UP)
    indexed(log)
    first, second, third = course(log).buckets
    assert (first.start, second.start) == ("2026-01-05", "2026-01-06")
    assert first.verdicts[Action.SERVE] == 2
    assert first.metrics[Metric.FAITHFULNESS].value == 0.75
    assert first.metrics[Metric.FABRICATED].value == 0.5
    assert first.stages["check"].value == pytest.approx(0.3)
    assert first.p95 == pytest.approx(0.31, rel=0.2)
    assert second.verdicts[Action.WITHHOLD] == 1
    assert second.metrics[Metric.WITHHOLD_RATE].value == 0.5
    assert second.metrics[Metric.RETRIEVAL_NULL].value == 0.5
    assert second.metrics[Metric.CORRECTIONS].value == 1.0
    assert third.count == 0
    whole = course(log).whole
    assert whole.count == 4
    assert whole.metrics[Metric.CORRECTIONS].value == pytest.approx(1 / 3)
    assert course(log).stages == ("search", "check", "other")


def test_hours_add_up_to_the_day(log: Log, clock: MovingClock) -> None:
    for _ in range(3):
        log.write(answer())
        clock.later(hours=1)
    indexed(log)
    hours = series(log.database, Span.last(4, HOUR, START + timedelta(hours=3)), None)
    assert [one.count for one in hours.buckets] == [1, 1, 1, 0]
    assert course(log).buckets[0].count == 3


def test_hours_are_kept_for_some_days_only(log: Log, clock: MovingClock) -> None:
    log.write(answer())
    clock.later(days=HOURS_KEPT + 1)
    log.write(answer())
    indexed(log)
    with log.database.reading() as connection:
        kept = connection.execute(select(TALLIES.c.width, TALLIES.c.bucket).distinct()).all()
    assert [len([one for one in kept if one.width == width]) for width in (HOUR, DAY)] == [1, 2]


def test_pages_do_not_wait_for_a_long_backlog(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DecisionIndex, "portion", 10)
    for n in range(35):
        log.write(answer(f"Question {n}?"))
    indexing = Indexing(decision_index(log.database, 0.3), pause=0.0)
    indexing.refresh()
    until(lambda: indexing.index.behind() == 0)
    assert course(log).whole.count == 35


def test_an_export_waits_for_the_index_for_a_limited_time(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DecisionIndex, "portion", 10)
    for n in range(35):
        log.write(answer(f"Question {n}?"))
    indexing = Indexing(decision_index(log.database, 0.3))
    monkeypatch.setattr(Indexing, "_start", lambda self: None)
    assert indexing.catch_up_within(0.0) == 25
    assert indexing.catch_up_within(60.0) == 0
    assert indexing.index.behind() == 0


def test_a_store_that_cannot_be_written_does_not_stop_a_page(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write(answer())
    indexing = Indexing(decision_index(log.database, 0.3))

    def busy(self: DecisionIndex) -> bool:
        raise StoreBusy("locked")

    monkeypatch.setattr(DecisionIndex, "update", busy)
    assert indexing.refresh() == log.head().sequence


def test_each_record_is_counted_once_whoever_updates(log: Log) -> None:
    for n in range(30):
        log.write(answer(f"Question {n}?"))
    begin = threading.Barrier(4)

    def work() -> None:
        begin.wait()
        decision_index(log.database, 0.3).catch_up()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert course(log).whole.count == 30
    assert DecisionIndex(log.database).behind() == 0


def test_an_index_built_again_is_the_same(log: Log, clock: MovingClock) -> None:
    log.write(about(PAY))
    clock.later(days=1)
    log.write(about(DOORS, cites=False))
    made = indexed(log)

    def content() -> list[list[tuple[object, ...]]]:
        with log.database.reading() as connection:
            rows = [connection.execute(select(table)).all() for table in INDEX_TABLES]
        return [sorted(map(tuple, found)) for found in rows]

    before = content()
    made.rebuild()
    assert content() == before


def test_decisions_are_filtered(
    log: Log, clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write(about(PAY, "How much?", "It is 900."), filing=Filing("web"))
    clock.later(hours=1)
    log.write(about(DOORS, "When open?"), filing=Filing("app"))
    clock.later(hours=1)
    log.write(refusal("Who is king?"), filing=Filing("app"))
    log.write_gate(about(DOORS, "Only gated?").evidence, answer().gate)
    indexed(log)
    page = Decisions(log).page
    assert listed(page(DecisionFilter())) == [
        "Only gated?",
        "Who is king?",
        "When open?",
        "How much?",
    ]
    assert listed(page(DecisionFilter(action="WITHHOLD"))) == ["Who is king?"]
    assert listed(page(DecisionFilter(action="GATE"))) == ["Only gated?"]
    assert listed(page(DecisionFilter(caller="app"))) == ["Who is king?", "When open?"]
    assert listed(page(DecisionFilter(caller="app", action="SERVE"))) == ["When open?"]
    for often in (20, 0):  # both ways to find the decisions of a document
        monkeypatch.setattr(decisions, "_OFTEN", often)
        assert listed(page(DecisionFilter(document="doors.md"))) == ["Only gated?", "When open?"]
    assert listed(page(DecisionFilter(text="OPEN"))) == ["When open?"]
    assert listed(page(DecisionFilter(text="900"))) == ["How much?"]
    assert listed(page(DecisionFilter(since="2026-01-05T13", until="2026-01-05T14"))) == [
        "When open?"
    ]
    assert listed(page(DecisionFilter(since="2026-02"))) == []
    assert listed(page(DecisionFilter(until="2026-02"))) == listed(page(DecisionFilter()))
    assert listed(page(DecisionFilter(document="none.md"))) == []
    assert listed(page(DecisionFilter(text="nul\0"))) == []


def test_pages_follow_each_other_in_both_directions(log: Log) -> None:
    for n in range(5):
        log.write(answer(f"Question {n}?"))
    indexed(log)
    log_of = Decisions(log)
    first = log_of.page(DecisionFilter(), most=2)
    assert listed(first) == ["Question 4?", "Question 3?"]
    assert (first.newer, first.older) == (False, True)
    second = log_of.page(DecisionFilter(), before=first.rows[-1].id, most=2)
    assert listed(second) == ["Question 2?", "Question 1?"]
    last = log_of.page(DecisionFilter(), before=second.rows[-1].id, most=2)
    assert (listed(last), last.older) == (["Question 0?"], False)
    assert listed(log_of.page(DecisionFilter(), after=last.rows[0].id, most=2)) == listed(second)
    newest = log_of.page(DecisionFilter(), after=second.rows[0].id, most=2)
    assert (listed(newest), newest.newer) == (listed(first), False)


def test_a_text_is_looked_for_a_part_at_a_time(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "SEARCHED", 4)
    for question in ("Old rent?", *(f"Question {n}?" for n in range(6)), "New rent?"):
        log.write(answer(question))
    indexed(log)
    page = Decisions(log).page(DecisionFilter(text="rent"))
    assert (listed(page), page.older) == (["New rent?"], True)
    assert page.reached is not None
    assert page.reached.question == "Question 3?"
    page = Decisions(log).page(DecisionFilter(text="rent"), before=page.last)
    assert (listed(page), page.older, page.reached) == (["Old rent?"], False, None)
    page = Decisions(log).page(DecisionFilter(text="nowhere"))
    assert (listed(page), page.older) == ([], True)
    assert page.last == log.entry("5").id


def test_without_the_label_nothing_of_a_document_is_found(log: Log) -> None:
    log.write(about(PAY, "How much?", "It is 900."))
    log.write(about(DOORS, "When open?", "At 900 hours."))
    indexed(log)
    page = Decisions(log).page
    assert listed(page(DecisionFilter(document="pay.md"), STAFF)) == ["How much?"]
    assert listed(page(DecisionFilter(document="pay.md"), NOBODY)) == []
    assert listed(page(DecisionFilter(text="900"), STAFF)) == ["When open?", "How much?"]
    assert listed(page(DecisionFilter(text="900"), NOBODY)) == ["When open?"]
    assert listed(page(DecisionFilter(), NOBODY)) == ["When open?"]
    assert listed(page(DecisionFilter(), STAFF)) == ["When open?", "How much?"]
    with log.database.reading() as connection:
        named = ["pay.md", "doors.md"]
        assert set(citations(connection, "default", named, STAFF)) == {"pay.md", "doors.md"}
        assert set(citations(connection, "default", named, NOBODY)) == {"doors.md"}


def test_another_collection_is_neither_listed_nor_counted(log: Log) -> None:
    log.write(about(RENT, "What rent?"))
    log.write(about(DOORS, "When open?"))
    indexed(log)
    house = Reader(collections=frozenset({"house"}))
    assert listed(Decisions(log).page(DecisionFilter(), house)) == ["What rent?"]
    assert Decisions(log).numbers(DecisionFilter(), house, 0) == [1]
    assert course(log, house).whole.count == 1
    assert course(log, Reader(collections=frozenset())).whole.count == 0
    assert course(log).whole.count == 2


def test_citations_are_counted_by_version(log: Log) -> None:
    newer = replace(DOORS, id="doors@2#0-9", version="2")
    log.write(about(DOORS))
    log.write(about(newer, cites=False))
    log.write(about(newer))
    indexed(log)
    with log.database.reading() as connection:
        found = citations(connection, "default", ["doors.md", "other.md"], None)["doors.md"]
    assert {version: (one.used, one.cited) for version, one in found.items()} == {
        "1": (1, 1),
        "2": (2, 1),
    }
    total = sum(found.values(), Citations())
    assert (total.used, total.cited) == (3, 2)


def test_what_is_erased_leaves_the_index_too(log: Log) -> None:
    log.write(about(PAY, "How much?", "It is 900."), filing=Filing("ann"))
    log.write(about(DOORS, "When open?"), filing=Filing("bob"))
    indexed(log)
    log.eraser.subject("ann", by="admin")
    page = Decisions(log).page
    gone, left = page(DecisionFilter()).rows[::-1]
    assert (gone.question, gone.caller, gone.action, gone.level) == ("", "", "", "")
    assert left.question == "When open?"
    assert listed(page(DecisionFilter(document="pay.md"))) == []
    # Nobody knows any more whose it was.
    assert [one.id for one in page(DecisionFilter(), STAFF).rows] == [left.id]
    assert [one.id for one in page(DecisionFilter(), AUDITOR).rows] == [left.id, gone.id]
    with log.database.reading() as connection:
        for table in (DECISIONS, USES, TALLIES):
            assert "900" not in str(connection.execute(select(table)).all())
    log.eraser.before(datetime(2999, 1, 1, tzinfo=UTC), names=["question"])
    (row,) = page(DecisionFilter(caller="bob")).rows
    assert (row.question, row.action) == ("", "SERVE")
    assert listed(page(DecisionFilter(document="doors.md"))) == [""]


def test_an_erasure_during_an_update_wins(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write(about(DOORS, "When open?"), filing=Filing("ann"))
    made = decision_index(log.database, 0.3)
    read = DecisionIndex.read

    def erased_meanwhile(self: DecisionIndex, *args: object) -> object:
        found = read(self, *args)  # type: ignore[arg-type]
        monkeypatch.setattr(DecisionIndex, "read", read)
        threading.Thread(target=log.eraser.subject, args=("ann",)).run()
        return found

    monkeypatch.setattr(DecisionIndex, "read", erased_meanwhile)
    made.catch_up()
    assert listed(Decisions(log).page(DecisionFilter())) == [""]


def test_text_that_a_database_cannot_store_does_not_stop_the_index(log: Log) -> None:
    odd = replace(DOORS, document="do\0ors.md", version="1\ud800", title="\0")
    log.write(about(odd, "When\0 open?", "At \ud800 9."))
    timings = (("se\0arch", 0.1), ("check", float("nan")), ("total", float("inf")))
    log.write(
        replace(about(DOORS, "Next?"), confidence=float("nan"), faithfulness=float("nan")),
        Trace(about(DOORS).evidence, timings=timings),
    )
    assert indexed(log).behind() == 0
    assert listed(Decisions(log).page(DecisionFilter())) == ["Next?", "When\ufffd open?"]
    assert listed(Decisions(log).page(DecisionFilter(document="do\ufffdors.md"))) == [
        "When\ufffd open?"
    ]
    assert course(log).whole.count == 2


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        (' outcome {"', " outcome {x"),
        (" findings [", " findings {"),
        (" passages [{", " passages [7,{"),
    ],
    ids=["outcome", "findings", "passages"],
)
def test_a_damaged_record_does_not_stop_the_index(log: Log, there: str, instead: str) -> None:
    damaged = log.write(about(DOORS, "Damaged?"))
    log.write(about(DOORS, "When open?"))
    with log.database.writing() as connection:
        chosen = RECORDS.c.id == damaged
        payload = str(connection.scalar(select(RECORDS.c.payload).where(chosen)))
        assert there in payload
        changed = update(RECORDS).where(chosen)
        connection.execute(changed.values(payload=payload.replace(there, instead, 1)))
    made = indexed(log)
    assert made.behind() == 0
    assert listed(Decisions(log).page(DecisionFilter()))[0] == "When open?"
    assert course(log).whole.count >= 1


def test_a_failed_update_is_logged_and_shows_as_unread(
    log: Log, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log.write(answer())

    def broken(self: DecisionIndex) -> bool:
        raise RuntimeError("a bug")

    monkeypatch.setattr(DecisionIndex, "update", broken)
    indexing = Indexing(decision_index(log.database, 0.3), pause=0.0)
    assert indexing.refresh() == 1
    indexing._run()
    assert caplog.text.count("RuntimeError: a bug") == 2


def test_a_second_erasure_during_an_update_wins_too(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write(about(DOORS, "When open?"), filing=Filing("ann"))
    always = datetime(2999, 1, 1, tzinfo=UTC)
    log.eraser.before(always, names=["timings"])
    read = DecisionIndex.read

    def erased_meanwhile(self: DecisionIndex, *args: object) -> object:
        found = read(self, *args)  # type: ignore[arg-type]
        monkeypatch.setattr(DecisionIndex, "read", read)
        log.eraser.before(always, names=["question"])
        return found

    monkeypatch.setattr(DecisionIndex, "read", erased_meanwhile)
    indexed(log)
    assert listed(Decisions(log).page(DecisionFilter())) == [""]


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (DecisionFilter(), "INTEGER PRIMARY KEY"),
        (DecisionFilter(action="REVIEW"), "INDEX decisions_action"),
        (DecisionFilter(caller="app"), "INDEX decisions_caller"),
        (DecisionFilter(since="2026-01-05", until="2026-01-06"), "INTEGER PRIMARY KEY"),
        (DecisionFilter(document="doors.md"), "INTEGER PRIMARY KEY"),
    ],
    ids=["all", "verdict", "caller", "time", "document"],
)
def test_the_first_page_is_read_from_an_index(log: Log, wanted: DecisionFilter, index: str) -> None:
    if log.database.dialect != "sqlite":
        pytest.skip("the plan of PostgreSQL depends on the number of rows")
    log.write(about(DOORS, "When open?"), filing=Filing("app"))
    indexed(log)
    number = DECISIONS.c.sequence
    with log.database.reading() as connection:
        query = chosen(connection, wanted, STAFF)
        assert query is not None
        ordered = query.where(number < 100_000).order_by(number.desc()).limit(51)
        sql = str(ordered.compile(connection.engine, compile_kwargs={"literal_binds": True}))
        plan = [row[-1] for row in connection.execute(text(f"EXPLAIN QUERY PLAN {sql}"))]
    assert not [step for step in plan if step == "SCAN decisions" or "TEMP B-TREE" in step], plan
    assert [step for step in plan if step.startswith(f"SEARCH decisions USING {index}")], plan


def test_durations_fall_into_classes() -> None:
    for seconds in (0.0, 0.001, 0.3, 1.0, 1.1, 12.0):
        longest = seconds_of(step_of(seconds))
        assert seconds <= longest + 1e-9
        assert longest <= max(seconds, 1e-6) * 1.2
    assert quantile({}, 0.5) is None
    counts = {step_of(0.1): 90, step_of(2.0): 10}
    assert quantile(counts, 0.5) == pytest.approx(0.1, rel=0.2)
    assert quantile(counts, 0.95) == pytest.approx(2.0, rel=0.2)


def test_a_span_holds_its_decisions_although_a_clock_had_jumped(
    log: Log, clock: MovingClock
) -> None:
    log.write(answer("before"))
    clock.later(days=1500)
    log.write(answer("jumped"))
    clock.later(days=-1499)
    log.write(answer("after"))
    indexed(log)
    days = [timestamp(START + timedelta(days=n)) for n in (0, 1, 2, 1600)]
    found = Decisions(log)
    assert listed(found.page(DecisionFilter(until=days[2]))) == ["after", "before"]
    assert listed(found.page(DecisionFilter(since=days[1], until=days[2]))) == ["after"]
    assert listed(found.page(DecisionFilter(since=days[2], until=days[3]))) == ["jumped"]
