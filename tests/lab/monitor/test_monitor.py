"""The monitor over a log: metrics, alarms and the guarantee, exactly once across processes."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import inspect

from suffice.errors import Unreadable
from suffice.lab.calibrate.certificate import Certificate
from suffice.lab.monitor.metrics import DEEP_CHECK, Metric, figures
from suffice.lab.monitor.monitor import JOBS, MAIL, Jobs, Monitor, in_force, read_certificates
from suffice.lab.monitor.state import State
from suffice.log.follower import read_cursor, write_cursor
from suffice.log.log import Log
from suffice.log.stored import RecordFilter
from suffice.log.suspension import MONITOR, Guarantee, Status, suspended, suspended_certificates
from suffice.review.case import Rating
from suffice.review.review import Review
from suffice.settings import (
    CollectionSettings,
    MailSettings,
    MonitorSettings,
    RouteSettings,
    ServerSettings,
    Settings,
    VerdictSettings,
)
from suffice.types import Action, GateDecision, Level
from suffice.verdict.route import read_routes
from tests.lab.monitor.stream import (
    MovingClock,
    answer,
    caught_up,
    certificate,
    open_log,
    refusal,
    write,
)

QUIET = MonitorSettings(weekly_served=0, weekly_withheld=0)


def monitor(
    log: Log, clock: MovingClock, certified: VerdictSettings | None = None, **settings: object
) -> Monitor:
    own = replace(QUIET, **settings)  # type: ignore[arg-type]
    verdict = certified or VerdictSettings()
    return replace(Monitor.of(log, Settings(monitor=own, verdict=verdict)), clock=clock)


def guarantee(watch: Monitor) -> Guarantee:
    """After all records of the log were read."""
    caught_up(watch)
    return watch.guarantee


def value(state: State, metric: Metric, clock: MovingClock) -> float | None:
    return figures(state.of(metric).days, clock().date(), QUIET).window.value


def test_the_six_metrics_are_read_from_the_log(log: Log, clock: MovingClock) -> None:
    served = log.write(answer(faithfulness=0.5))
    log.write(answer(faithfulness=1.0, fabricated=True, action=Action.WITHHOLD))
    log.write(refusal(similarity=0.05))
    log.write(replace(answer(faithfulness=0.0), repeats="another"))
    Review(log).feedback(served, Rating.DOWN)
    Review(log).feedback(served, Rating.UP)
    state = caught_up(monitor(log, clock))
    found = {metric: value(state, metric, clock) for metric in Metric}
    assert found == {
        Metric.FAITHFULNESS: 0.75,
        Metric.FACT_SCORE: 0.75,
        Metric.WITHHOLD_RATE: pytest.approx(2 / 3),
        Metric.FABRICATED: pytest.approx(1 / 3),
        Metric.RETRIEVAL_NULL: pytest.approx(1 / 3),
        Metric.CORRECTIONS: 1.0,
    }
    assert [alarm.metric for alarm in state.alarms] == [Metric.FABRICATED]


def test_a_fabricated_citation_raises_an_alarm_at_once_that_clears_after_the_window(
    log: Log, clock: MovingClock, caplog: pytest.LogCaptureFixture
) -> None:
    log.write(answer(fabricated=True))
    watch = monitor(log, clock)
    with caplog.at_level(logging.INFO, "suffice.monitor"):
        caught_up(watch)
        clock.later(days=8)
        assert caught_up(watch).alarms == ()
    assert [one.fields()["what"] for one in log.entries(RecordFilter(kind="alarm"))] == [
        "raised",
        "cleared",
    ]
    assert "Alarm raised: fabricated_citation_rate: any" in caplog.text
    assert "cleared" in caplog.text


def play(log: Log, clock: MovingClock, days: int, each: int, **kind: float) -> None:
    """Some days of answers: a share of them withheld, the others with this faithfulness."""
    draw = np.random.default_rng(days)
    for _ in range(days):
        held = draw.random(each) < kind.get("withheld", 0.0)
        scores = np.clip(kind.get("faithfulness", 1.0) + draw.normal(size=each) / 20, 0, 1)
        pairs = zip(held, scores, strict=True)
        write(log, [refusal() if no else answer(faithfulness=float(one)) for no, one in pairs])
        clock.later(days=1)


def test_a_drop_of_faithfulness_raises_its_alarm(log: Log, clock: MovingClock) -> None:
    watch = monitor(log, clock)
    play(log, clock, 10, 20, faithfulness=0.9)
    assert caught_up(watch).alarms == ()
    play(log, clock, 7, 20, faithfulness=0.8)
    found = {alarm.metric: alarm for alarm in caught_up(watch).alarms}
    assert found.keys() == {Metric.FAITHFULNESS, Metric.FACT_SCORE}
    assert found[Metric.FAITHFULNESS].value == pytest.approx(0.8, abs=0.03)
    assert found[Metric.FAITHFULNESS].baseline == pytest.approx(0.9, abs=0.03)


def test_a_drop_below_the_published_limit_raises_none(log: Log, clock: MovingClock) -> None:
    watch = monitor(log, clock)
    play(log, clock, 10, 20, faithfulness=0.9)
    play(log, clock, 7, 20, faithfulness=0.87)
    state = caught_up(watch)
    assert state.alarms == ()
    assert state.of(Metric.FAITHFULNESS).rejected  # the change is noticed, and it is small


def test_few_bad_answers_raise_none(log: Log, clock: MovingClock) -> None:
    """The published limit alone would: seven days with two answers have a mean of 0.5."""
    watch = monitor(log, clock)
    play(log, clock, 10, 10, faithfulness=0.9)
    clock.later(days=7)
    log.write(answer(faithfulness=0.0))
    assert caught_up(watch).alarms == ()


def test_withholding_twice_as_often_raises_its_alarm(log: Log, clock: MovingClock) -> None:
    watch = monitor(log, clock)
    play(log, clock, 10, 30, withheld=0.1)
    caught_up(watch)
    play(log, clock, 7, 30, withheld=0.5)
    assert [alarm.metric for alarm in caught_up(watch).alarms] == [Metric.WITHHOLD_RATE]


# The guarantee


def drifting(log: Log, count: int, center: float, under: VerdictSettings) -> None:
    draw = np.random.default_rng(count)
    scores = 1 / (1 + np.exp(-center - draw.normal(size=count)))
    write(log, [answer(confidence=float(score)) for score in scores], under)


def test_drift_suspends_the_guarantee_until_thresholds_are_calibrated_again(
    log: Log, clock: MovingClock, tmp_path: Path
) -> None:
    draw = np.random.default_rng(1)
    scores = (1 / (1 + np.exp(-2 - draw.normal(size=300)))).tolist()
    own = certificate(tmp_path / "t.json", scores, confidence=0.7)
    watch = monitor(log, clock, own)
    drifting(log, 150, 2.0, own)
    first = guarantee(watch)
    assert first.status is Status.ACTIVE
    assert "At most 0.05" in first.why
    clock.later(hours=1)
    drifting(log, 150, 0.5, own)
    found = guarantee(watch)
    assert found.status is Status.SUSPENDED
    assert found.since.startswith("2026-01-05T13:00")
    assert "Calibrate again" in found.why
    written = [one.fields() for one in log.entries(RecordFilter(kind="guarantee"))]
    assert [one["what"] for one in written] == ["active", "suspended"]
    assert {one["certificate"] for one in written} == {found.certificate}
    drifting(log, 50, 2.0, own)
    assert guarantee(watch) == found  # it does not recover by itself
    again = certificate(tmp_path / "again.json", scores, confidence=0.8)
    assert guarantee(monitor(log, clock, again)).status is Status.ACTIVE
    assert guarantee(monitor(log, clock)).status is Status.NONE


def test_a_suspended_certificate_stays_suspended_when_others_were_seen(
    log: Log, clock: MovingClock, tmp_path: Path
) -> None:
    """Processes with other settings, or with none, may share the store."""
    first = certificate(tmp_path / "t.json", [0.9 + n / 4000 for n in range(300)])
    other = certificate(tmp_path / "other.json", [0.5], gate=0.7)
    watch = monitor(log, clock, first)
    caught_up(watch)
    write(log, [answer(confidence=0.5 + n / 400) for n in range(60)], first)
    held = guarantee(watch)
    assert held.status is Status.SUSPENDED
    assert guarantee(monitor(log, clock)).status is Status.NONE
    assert watch.guarantee == held
    assert guarantee(monitor(log, clock, other)).status is Status.ACTIVE
    assert watch.guarantee == held
    assert guarantee(watch) == held


def test_two_certificates_on_one_store_are_tested_side_by_side(
    log: Log, clock: MovingClock, tmp_path: Path
) -> None:
    """One process knows both, another one of them: neither restarts the test of the other."""
    high = certificate(tmp_path / "a.json", [0.9 + n / 4000 for n in range(300)])
    low = certificate(tmp_path / "b.json", [0.5 + n / 1000 for n in range(300)], gate=0.7)
    both = Settings(
        monitor=QUIET,
        verdict=high,
        server=ServerSettings(routes={"hr": RouteSettings(own=CollectionSettings(verdict=low))}),
    )
    watch = replace(Monitor.of(log, both), clock=clock)
    one = monitor(log, clock, high)
    first, second = watch.certificates.values()
    caught_up(watch)
    for n in range(40):
        live = answer(confidence=0.9 + 0.075 * (n * 17 % 40) / 40)
        write(log, [live], high)
        write(log, [live], low)  # drift
        caught_up(one if n % 2 else watch)
    state = watch.state
    assert state.guarantee(first).status is Status.ACTIVE
    assert state.guarantee(second).status is Status.SUSPENDED
    assert [state.test(found).steps for found in (first, second)] == [40, 40]  # type: ignore[union-attr]
    assert one.guarantee.status is Status.ACTIVE


def test_the_tests_of_old_certificates_are_dropped_and_suspensions_are_kept(
    log: Log, clock: MovingClock, tmp_path: Path
) -> None:
    first = certificate(tmp_path / "t.json", [0.9 + n / 4000 for n in range(300)])
    watch = monitor(log, clock, first)
    caught_up(watch)
    write(log, [answer(confidence=0.5 + n / 400) for n in range(60)], first)
    held = guarantee(watch)
    for n in range(60):
        caught_up(monitor(log, clock, certificate(tmp_path / "n.json", [0.5], gate=n / 100)))
    assert len(watch.state.certificates) == 50
    assert held.certificate not in watch.state.certificates
    assert watch.guarantee == held
    assert guarantee(watch) == held


def test_only_answers_like_those_of_the_reference_are_tested(
    log: Log, clock: MovingClock, tmp_path: Path
) -> None:
    own = certificate(tmp_path / "t.json", [0.9 + n / 4000 for n in range(300)], gate=0.6)
    other = certificate(tmp_path / "other.json", [0.5], gate=0.7)
    low = [answer(confidence=0.5 + n / 400) for n in range(60)]
    write(log, low)  # before there was a certificate
    write(log, low, other)
    write(log, [replace(one, gate=replace(one.gate, score=0.5)) for one in low], own)
    write(log, [replace(one, gate=GateDecision(Level.SUFFICIENT, 1, "none")) for one in low], own)
    write(log, [replace(one, confidence=None) for one in low], own)
    watch = monitor(log, clock, own)
    assert guarantee(watch).status is Status.ACTIVE
    test = watch.state.test(watch.certificate)
    assert test is not None
    assert test.steps == 0


@pytest.mark.parametrize("listed", [False, True])
def test_a_state_of_an_older_version_is_read(
    log: Log, clock: MovingClock, tmp_path: Path, listed: bool
) -> None:
    """It has one certificate; still older ones do not list the suspended guarantees."""
    own = certificate(tmp_path / "t.json", [0.9 + n / 4000 for n in range(300)])
    watch = monitor(log, clock, own)
    caught_up(watch)
    write(log, [answer(confidence=0.5 + n / 400) for n in range(60)], own)
    held = guarantee(watch)
    with log.database.writing() as connection:
        cursor = read_cursor(connection, MONITOR)
        tree = json.loads(cursor.state)
        (raw,) = tree.pop("certificates").values()
        old = {"guarantee": raw["guarantee"], "exchangeability": raw["test"], "gate": raw["gate"]}
        suspensions = tree.pop("suspended")
        old |= {"suspended": suspensions} if listed else {}
        older = json.dumps({**tree, **old, "sequence": cursor.sequence, "sampled": ""})
        write_cursor(connection, MONITOR, replace(cursor, state=older))
    collection = CollectionSettings(verdict=own)
    ids = suspended_certificates(collection, watch.settings, log.database)
    assert ids == {held.certificate}
    assert watch.state.suspended == (held,)
    assert guarantee(watch) == held
    test = watch.state.test(watch.certificate)
    assert test is not None
    assert test.steps == 60


def test_a_certificate_that_certifies_nothing_guarantees_nothing(
    log: Log, clock: MovingClock, tmp_path: Path
) -> None:
    Certificate(0.05, 0.05, None).write(tmp_path / "t.json")
    watch = monitor(log, clock, VerdictSettings(thresholds_file=str(tmp_path / "t.json")))
    assert guarantee(watch).status is Status.NONE
    assert not watch.state.certificates


def test_the_stricter_threshold_is_in_force_while_suspended() -> None:
    active, held = Guarantee(Status.ACTIVE), Guarantee(Status.SUSPENDED)
    defaults = in_force(None, Guarantee())
    assert (defaults.gate, defaults.confidence) == (0.6, 0.8)
    certified = Certificate(0.05, 0.05, {"gate": 0.7, "confidence": 0.75})
    assert in_force(certified, active) == certified.applied
    strict = in_force(certified, held)
    assert (strict.gate, strict.confidence) == (0.7, 0.8)
    lenient = Certificate(0.05, 0.05, {"gate": 0.5, "confidence": 0.1})
    assert in_force(lenient, held) == defaults


def test_a_suspension_only_raises_the_thresholds_of_the_settings(tmp_path: Path) -> None:
    own = CollectionSettings(verdict=certificate(tmp_path / "t.json", [0.5]))
    certified = Certificate(0.05, 0.05, {"gate": 0.7, "confidence": 0.9})
    assert certified.applied is not None
    raised = suspended(own, certified.applied)
    assert raised.gate.learned.sufficient == 0.7
    serving = [row for row in raised.verdict.routes if row.endswith("SERVE")]
    assert serving == ["faithfulness >= 0.85 and facts >= 0.80 and confidence >= 0.9000 -> SERVE"]
    read_routes(raised.verdict.routes)
    assert not raised.verdict.thresholds_file  # records name no certificate that does not hold


def test_a_file_that_is_no_certificate_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "t.json"
    own = Settings(verdict=VerdictSettings(thresholds_file=str(wrong)))
    for text in ("", "[]", '{"thresholds": {}, "alpha": 0.1, "delta": 0.1, "reference": []}'):
        wrong.write_text(text)
        with pytest.raises(Unreadable, match="suffice calibrate"):
            read_certificates(own)
    assert read_certificates(Settings()) == {}


# One updater


def test_processes_that_update_at_once_count_each_record_once(
    place: str, clock: MovingClock
) -> None:
    log = open_log(place, clock)
    for _ in range(40):
        log.write(answer(fabricated=True))
    watch = [replace(monitor(log, clock), deep=True, chance=lambda: 0.05) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(caught_up, watch))
    state = watch[0].state
    assert figures(state.of(Metric.FAITHFULNESS).days, clock().date(), QUIET).window.count == 40
    test = state.of(Metric.FAITHFULNESS).test
    assert test is not None
    assert test.steps == test.counts.sum() == 40
    assert len(list(log.entries(RecordFilter(kind="alarm")))) == 1
    assert Jobs(log.database).waiting() == {DEEP_CHECK: 40}
    log.close()
    log.database.close()


def test_the_state_survives_a_restart(log: Log, clock: MovingClock) -> None:
    play(log, clock, 2, 5, faithfulness=0.9)
    before = caught_up(monitor(log, clock))
    again = monitor(log, clock)
    assert not again.update()
    after = again.state
    assert (after.sequence, after.time, after.alarms) == (before.sequence, before.time, ())
    assert after.of(Metric.FACT_SCORE).days == before.of(Metric.FACT_SCORE).days


def test_a_share_of_drafted_answers_and_urgent_changes_become_jobs(
    log: Log, clock: MovingClock
) -> None:
    for n in range(10):
        log.write(answer(fabricated=n == 9))
        log.write(refusal())
    chances = iter([0.05, 0.5] * 5)
    watch = monitor(log, clock, mail=MailSettings(host="localhost", sender="a@b", to=("c@d",)))
    watch = replace(watch, deep=True, chance=lambda: next(chances))
    caught_up(watch)
    jobs = Jobs(log.database)
    assert jobs.waiting() == {DEEP_CHECK: 5, MAIL: 1}
    claimed = jobs.claim((MAIL,))
    assert claimed is not None
    assert jobs.claim((MAIL,)) is None  # taken
    assert jobs.failed(claimed, "down")
    assert not jobs.failed(replace(claimed, attempts=4), "down")
    assert jobs.waiting() == {DEEP_CHECK: 5}


def test_the_tables_are_those_the_migrations_make(log: Log) -> None:
    with log.database.reading() as connection:
        there = {column["name"] for column in inspect(connection).get_columns(JOBS.name)}
        assert there == {column.name for column in JOBS.columns}
