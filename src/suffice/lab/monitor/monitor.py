"""The monitor of one log: reads new records, updates the metrics and reports changes.

>>> monitor = Monitor(log, settings)
>>> monitor.catch_up()
>>> monitor.guarantee.status
<Status.ACTIVE: 'active'>
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from suffice.lab.calibrate.certificate import Certificate
from suffice.lab.monitor.metrics import (
    DEEP_CHECK,
    KINDS,
    METRICS,
    SERVED,
    Array,
    Days,
    Martingale,
    Mean,
    Metric,
    Observed,
    Side,
    figures,
    observe,
)
from suffice.lab.monitor.state import (
    Alarm,
    DeepCounts,
    State,
    Tested,
    Tracked,
    state_at,
    stored,
)
from suffice.log.chain import Clock, now, read_time, timestamp
from suffice.log.decision import QUEUE, VERDICT, subject_of
from suffice.log.follower import Cursor, Follower, move_cursor, read_cursor
from suffice.log.log import Draw, Log, Why, queue_record
from suffice.log.record import Entry, Record, values
from suffice.log.stored import RecordFilter, find
from suffice.log.suspension import MONITOR, Guarantee, Status, default_thresholds, strict_thresholds
from suffice.log.tables import RECORDS
from suffice.settings import MonitorSettings, Settings
from suffice.sql import sa
from suffice.sql.columns import number, real, text
from suffice.sql.database import Database, claim_due
from suffice.sql.statements import upsert
from suffice.verdict.thresholds import Thresholds
from suffice.webhooks import ALARM, GUARANTEE


def read_certificates(settings: Settings) -> dict[str, Certificate]:
    """The certificates that the settings, their collections and their routes name, by file."""
    return {path: Certificate.read(Path(path)) for path in dict.fromkeys(_files(settings)) if path}


def _files(settings: Settings) -> Iterator[str]:
    yield settings.verdict.thresholds_file
    for name in settings.collections:
        yield settings.collection(name).verdict.thresholds_file
    for route in settings.server.routes.values():
        if route.own:
            yield route.own.verdict.thresholds_file


def in_force(certificate: Certificate | None, state: Guarantee) -> Thresholds:
    """The thresholds to apply: the certified ones or, without a certificate, the defaults. While
    the guarantee is suspended, each is the stricter of certified and default."""
    own = certificate.applied if certificate else None
    if own is None:
        return default_thresholds(None)
    return strict_thresholds(own) if state.status is Status.SUSPENDED else own


_EXCHANGEABILITY = "exchangeability"
_GUARANTEE = "guarantee"
_MOST = 50
"""Certificates whose test is kept. Beyond that, the oldest that are not in the settings go."""


@dataclass(frozen=True, slots=True)
class Step:
    """Computes the next state. `certificates` are those in the settings, `now` is the current
    time."""

    settings: MonitorSettings
    certificates: Sequence[Certificate]
    now: datetime

    def after(self, state: State, observed: Sequence[Observed]) -> State:
        """The state after these records, in the order of the log."""
        state = self._certified(state)
        if observed:
            state = replace(state, sequence=observed[-1].sequence, time=observed[-1].time)
        tracked = {metric: self._tracked(state.of(metric), metric, observed) for metric in Metric}
        state = self._tested(replace(state, tracked=tracked), observed)
        state = replace(state, deep=_deep(state.deep, observed))
        return self._alarmed(state)

    # The guarantee

    def _certified(self, state: State) -> State:
        """A new certificate starts a test of its own, unless its guarantee was suspended before.
        Those of other processes go on: they share the store, not the settings."""
        tested = dict(state.certificates)
        configured = {one.id: one for one in self.certificates if one.certified}
        for id, certificate in configured.items():
            if id not in tested:
                tested[id] = self._started(state, certificate)
        if tested.keys() == state.certificates.keys():
            return state
        others = [id for id in tested if id not in configured]
        for id in others[: max(len(tested) - _MOST, 0)]:
            del tested[id]
        return replace(state, certificates=tested)

    def _started(self, state: State, certificate: Certificate) -> Tested:
        guarantee = state.guarantee(certificate)
        if guarantee.status is Status.SUSPENDED:
            return Tested(guarantee, None)
        active = Guarantee(Status.ACTIVE, timestamp(self.now), certificate.promise, certificate.id)
        applied = certificate.applied
        gate = applied.gate if applied and applied.gate else 0.0
        return Tested(active, Martingale.of(Side.BOTH, certificate.reference), gate)

    def _tested(self, state: State, observed: Sequence[Observed]) -> State:
        tested = {id: self._after(test, id, observed) for id, test in state.certificates.items()}
        newly_suspended = [
            test.guarantee
            for id, test in tested.items()
            if test.guarantee.status is Status.SUSPENDED
            and state.certificates[id].guarantee.status is not Status.SUSPENDED
        ]
        suspended = (*state.suspended, *newly_suspended)
        return replace(state, certificates=tested, suspended=suspended)

    def _after(self, before: Tested, id: str, observed: Sequence[Observed]) -> Tested:
        """Test the answers like those of the reference: under the certificate, at an open gate."""
        live = [
            (record, record.covered)
            for record in observed
            if record.covered is not None
            and record.covered.certificate == id
            and record.covered.gate >= before.gate
        ]
        if before.test is None or not live:
            return before
        test, wealth = before.test.after(
            [covered.confidence for _, covered in live],
            [record.tie(_EXCHANGEABILITY) for record, _ in live],
        )
        after = replace(before, test=test)
        rejects = self._rejects_at(wealth)
        if rejects is None or before.guarantee.status is Status.SUSPENDED:
            return after
        first, _ = live[rejects]
        seen = test.steps - len(live) + rejects + 1
        why = (
            f"The confidences of {seen:,} live answers are no longer exchangeable with those of "
            f"the calibration (test at level {self.settings.level:g}). Calibrate again."
        )
        return replace(after, guarantee=Guarantee(Status.SUSPENDED, first.time, why, id))

    def _rejects_at(self, wealth: Array) -> int | None:
        """The place of the first observation after which a test rejects."""
        over = (wealth >= 1 / self.settings.level).nonzero()[0]
        return int(over[0]) if len(over) else None

    # The metrics

    def _tracked(self, before: Tracked, metric: Metric, observed: Sequence[Observed]) -> Tracked:
        observations = [
            (record, observation)
            for record in observed
            for observation in record.observations
            if observation.metric is metric
        ]
        days = dict(before.days)
        for record, observation in observations:
            day = record.time[:10]
            mean = days.get(day, Mean())
            days[day] = Mean(mean.count + observation.counts, mean.total + observation.value)
        test, rejected = before.test, before.rejected
        if test is not None and observations:
            ties = [record.tie(metric) for record, _ in observations]
            test, wealth = test.after([one.value for _, one in observations], ties)
            rejects = self._rejects_at(wealth)
            if rejects is not None and not rejected:
                rejected = observations[rejects][0].time
        return Tracked(self._recent(days), test, rejected)

    def _recent(self, days: Mapping[str, Mean]) -> Days:
        span = self.settings.window_days + self.settings.baseline_days
        oldest = (self.now - timedelta(days=span)).date().isoformat()
        return {day: mean for day, mean in days.items() if day >= oldest}

    def _alarmed(self, state: State) -> State:
        """Raise and clear the alarms. The test of a metric restarts once its alarm is cleared, or
        if the metric did not cross its published limit within a window after the test rejected."""
        tracked, alarms = dict(state.tracked), []
        was = {alarm.metric: alarm for alarm in state.alarms}
        for metric, definition in METRICS.items():
            current = tracked[metric]
            found = figures(current.days, self.now.date(), self.settings)
            exceeded = definition.exceeded(found, self.settings)
            sure = definition.side is None or bool(current.rejected)
            if exceeded and (metric in was or sure):
                new = Alarm(
                    metric, state.time, state.sequence, found.window.value, found.baseline.value
                )
                alarms.append(was.get(metric, new))
            elif current.test is not None and (metric in was or self._old(current.rejected)):
                tracked[metric] = replace(current, test=current.test.restarted(), rejected="")
        return replace(state, tracked=tracked, alarms=tuple(alarms))

    def _old(self, rejected: str) -> bool:
        window = timedelta(days=self.settings.window_days)
        return bool(rejected) and self.now - read_time(rejected) > window


def _deep(before: DeepCounts, observed: Sequence[Observed]) -> DeepCounts:
    found = [one.deep for one in observed if one.deep is not None]
    return DeepCounts(
        before.count + len(found),
        before.changed + sum(one.changed for one in found),
        before.released + sum(one.released for one in found),
        before.again + sum(one.again for one in found),
    )


@dataclass(frozen=True, slots=True)
class Change:
    """Something to report: `about` is a metric or "guarantee", `what` is what happened to it. Every
    process gives it the same id. `certificate` is the id of the one whose guarantee changed."""

    about: str
    what: str
    id: str
    text: str
    value: float | None = None
    baseline: float | None = None
    certificate: str = ""


def changes(before: State, after: State, settings: MonitorSettings) -> Iterator[Change]:
    """The changes between two states that must be reported."""
    old = {alarm.metric: alarm for alarm in before.alarms}
    new = {alarm.metric: alarm for alarm in after.alarms}
    for alarm in (one for metric, one in new.items() if metric not in old):
        words = METRICS[alarm.metric].alarm(settings)
        yield _change(alarm, "raised", f"{alarm.metric.value}: {words}. {_figures(alarm)}")
    for alarm in (one for metric, one in old.items() if metric not in new):
        yield _change(alarm, "cleared", f"{alarm.metric.value}: back within its limit.")
    for id, one in after.certificates.items():
        was, found = before.certificates.get(id), one.guarantee
        if was is None or was.guarantee != found:
            name = f"guarantee-{id}-{found.status.value}"
            yield Change(_GUARANTEE, found.status.value, name, found.why, certificate=id)


def _change(alarm: Alarm, what: str, text: str) -> Change:
    name = f"alarm-{alarm.metric.value}-{alarm.sequence}-{what}"
    return Change(alarm.metric.value, what, name, text, alarm.value, alarm.baseline)


def _figures(alarm: Alarm) -> str:
    now = "–" if alarm.value is None else f"{alarm.value:.3f}"
    return now + ("" if alarm.baseline is None else f", baseline {alarm.baseline:.3f}") + "."


MAIL = "mail"
ATTEMPTS = 5
_CLAIM = 600.0
"""Seconds after which another process may take over the job of a process that died."""
_WAIT = 60.0

JOBS = sa.Table(
    "monitor_jobs",
    sa.MetaData(),
    text("id", key=True),
    text("kind"),
    text("record"),
    real("due"),
    number("attempts"),
    text("problem"),
)


@dataclass(frozen=True, slots=True)
class Job:
    """A background job about one record."""

    kind: str
    record: str
    attempts: int = 0

    @property
    def id(self) -> str:
        return f"{self.kind} {self.record}"


def add_jobs(connection: sa.Connection, jobs: Sequence[Job], due: float) -> None:
    """Add the jobs that do not exist yet."""
    rows = [
        {"id": job.id, "kind": job.kind, "record": job.record, "due": due, "attempts": 0}
        for job in jobs
    ]
    if rows:
        new = upsert(connection, JOBS).on_conflict_do_nothing()
        connection.execute(new, [{**row, "problem": ""} for row in rows])


class Jobs:
    """The job queue. Safe across threads and processes."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def claim(self, kinds: tuple[str, ...]) -> Job | None:
        """Take the job that has been due the longest."""
        now = self._clock()
        due = (JOBS.c.due <= now, JOBS.c.kind.in_(kinds))
        row = claim_due(self._database, JOBS, due, now + _CLAIM)
        return None if row is None else Job(row.kind, row.record, row.attempts)

    def done(self, job: Job) -> None:
        with self._database.writing() as connection:
            connection.execute(sa.delete(JOBS).where(JOBS.c.id == job.id))

    def failed(self, job: Job, problem: str) -> bool:
        """Try again later, or drop the job after the last attempt; return whether it is kept."""
        attempts = job.attempts + 1
        if attempts >= ATTEMPTS:
            self.done(job)
            return False
        values = {"attempts": attempts, "problem": problem[:500]}
        again = self._clock() + _WAIT * 2.0**job.attempts
        with self._database.writing() as connection:
            changed = sa.update(JOBS).where(JOBS.c.id == job.id).values(due=again, **values)
            connection.execute(changed)
        return True

    def waiting(self) -> dict[str, int]:
        """The number of unfinished jobs of each kind."""
        with self._database.reading() as connection:
            query = sa.select(JOBS.c.kind, sa.func.count()).group_by(JOBS.c.kind)
            return {str(kind): int(count) for kind, count in connection.execute(query)}


WEEK = timedelta(days=7)
SAMPLE = "review_sample"


@dataclass(slots=True)
class Stratum:
    """A reservoir sample: at any time, each answer so far is in it with the same probability."""

    wanted: int
    draw: random.Random
    population: int = 0
    held: list[str] = field(default_factory=list)

    def offer(self, id: str) -> None:
        self.population += 1
        if len(self.held) < self.wanted:
            self.held.append(id)
        elif self.wanted:
            place = self.draw.randrange(self.population)
            if place < self.wanted:
                self.held[place] = id

    @property
    def probability(self) -> float:
        return len(self.held) / self.population if self.population else 0.0


@dataclass(frozen=True, slots=True)
class Weekly:
    """Draws the sample of one log. The state of its cursor is the time up to which the sample was
    drawn."""

    log: Log
    settings: Settings
    random: random.Random = field(default_factory=random.SystemRandom)

    @property
    def cursor(self) -> Cursor:
        with self.log.database.reading() as connection:
            return read_cursor(connection, "weekly_sample")

    def draw_if_due(self, now: datetime) -> int:
        """Draw the sample of a week that is over; return the number of answers. The first call
        starts the first week."""
        before = self.cursor
        begin = read_time(before.state) if before.state else None
        if begin is not None and now - begin < WEEK:
            return 0
        until = timestamp(now if begin is None else begin + WEEK)
        # The cursor moves first: two processes would otherwise both draw from this week.
        moved = move_cursor(
            self.log.database, "weekly_sample", before, replace(before, state=until)
        )
        return self.draw(before.state, until) if moved and before.state else 0

    def draw(self, since: str, until: str) -> int:
        """Send the sample of a week for review; return the number of answers."""
        monitor = self.settings.monitor
        served = 0 if self.settings.record.review_sample else monitor.weekly_served
        strata = {
            True: Stratum(served, self.random),
            False: Stratum(monitor.weekly_withheld, self.random),
        }
        week = RecordFilter(since=since, until=until)
        with self.log.database.reading() as connection:
            self.offer(connection, week, strata)
            drawn = [
                self._record(connection, id, stratum.probability, served=served_)
                for served_, stratum in strata.items()
                for id in stratum.held
            ]
        if drawn:
            self.log.append(*drawn, self._summary(since, until, strata))
        return len(drawn)

    def offer(
        self, connection: sa.Connection, week: RecordFilter, strata: dict[bool, Stratum]
    ) -> None:
        """Offer each answer of the week that is not queued to its stratum, served or withheld."""
        queued = week.narrowed(sa.select(RECORDS.c.id)).where(RECORDS.c.kind == QUEUE)
        known = {subject_of(id) for id in connection.scalars(queued)}
        query = week.narrowed(sa.select(RECORDS.c.id, RECORDS.c.payload))
        query = query.where(RECORDS.c.kind == VERDICT).order_by(RECORDS.c.sequence)
        rows = connection.execution_options(yield_per=200).execute(query)
        for id, payload in rows:
            outcome = values(payload, ("outcome",)).get("outcome")
            if id not in known and isinstance(outcome, dict):
                strata[outcome.get("action") in SERVED].offer(id)

    def _record(
        self, connection: sa.Connection, id: str, probability: float, *, served: bool
    ) -> Record:
        entry = find(connection, id)
        question = values(entry.payload, ("question",)).get("question", "")
        draw = Draw((Why.WEEKLY,), probability, served)
        return queue_record(id, question, draw, (entry.caller, entry.tag), once=True)

    def _summary(self, since: str, until: str, strata: dict[bool, Stratum]) -> Record:
        """How many answers there were, and how many were drawn."""
        names = {True: "served", False: "withheld"}
        counts = {
            names[served]: {"population": one.population, "drawn": len(one.held)}
            for served, one in strata.items()
        }
        return Record(SAMPLE, {"since": since, "until": until, **counts})


_LOG = logging.getLogger("suffice.monitor")
_URGENT = ("raised", "suspended")


@dataclass(frozen=True, slots=True)
class Progress:
    """The next state of the monitor, what it has to report, and new jobs."""

    state: State
    changes: tuple[Change, ...]
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class Monitor(Follower[Progress]):
    """Monitors one log. Thread-safe; any number of processes may monitor it."""

    log: Log
    settings: Settings
    certificates: Mapping[str, Certificate] = field(default_factory=dict)
    """The certificates that the settings name, by file."""
    deep: bool = False
    """Whether answers are sampled for deep checks, which need a worker."""
    clock: Clock = now
    seconds: Callable[[], float] = time.time
    chance: Callable[[], float] = field(default=random.SystemRandom().random)
    database: Database = field(init=False)

    name = MONITOR
    kinds = KINDS
    portion = 500

    def __post_init__(self) -> None:
        object.__setattr__(self, "database", self.log.database)

    @classmethod
    def of(cls, log: Log, settings: Settings, *, deep: bool = False) -> Monitor:
        """The monitor that the settings describe."""
        return cls(log, settings, read_certificates(settings), deep)

    @property
    def certificate(self) -> Certificate | None:
        """The certificate of the settings as a whole; a collection or route may have another."""
        return self.certificates.get(self.settings.verdict.thresholds_file)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of that certificate."""
        return self.state.guarantee(self.certificate)

    @property
    def state(self) -> State:
        with self.database.reading() as connection:
            return state_at(read_cursor(connection, self.name))

    def sample(self) -> int:
        """Draw the weekly sample if it is due; return the number of answers sent for review."""
        return Weekly(self.log, self.settings).draw_if_due(self.clock())

    def read(
        self, connection: sa.Connection, cursor: Cursor, entries: Sequence[Entry]
    ) -> Progress | None:
        before, similar = state_at(cursor), self.settings.search.min_dense_similarity
        observed = [observe(entry, similar) for entry in entries]
        step = Step(self.settings.monitor, tuple(self.certificates.values()), self.clock())
        after = step.after(before, observed)
        found = tuple(changes(before, after, self.settings.monitor))
        if not observed and not found and after == before:
            return None
        return Progress(after, found, self._jobs(observed, found))

    def announce(self, change: Progress) -> None:
        """Write changes to the log, so that removing them is detectable and webhooks send them.
        They have the same ids whenever and by whichever process they are written."""
        for one in change.changes:
            fields = {"about": one.about, "what": one.what, "text": one.text}
            figures = {"value": one.value, "baseline": one.baseline}
            kind, more = ALARM, {}
            if one.about == GUARANTEE:
                kind, more = GUARANTEE, {"certificate": one.certificate}
            self.log.append(Record(kind, {**fields, **figures, **more}, id=one.id, once=True))

    def apply(self, connection: sa.Connection, change: Progress) -> None:
        add_jobs(connection, change.jobs, self.seconds())
        for one in change.changes:
            level = logging.WARNING if one.what in _URGENT else logging.INFO
            kind = "Guarantee" if one.about == GUARANTEE else "Alarm"
            _LOG.log(level, "%s %s: %s", kind, one.what, one.text)

    def state_after(self, change: Progress) -> str:
        return stored(change.state)

    def _jobs(self, observed: Sequence[Observed], found: Sequence[Change]) -> tuple[Job, ...]:
        share = self.settings.monitor.deep_share if self.deep else 0.0
        drawn = [one for one in observed if one.drafted and share and self.chance() < share]
        mail = self.settings.monitor.mail.host
        urgent = [one for one in found if mail and one.what in _URGENT]
        return (
            *(Job(DEEP_CHECK, one.id) for one in drawn),
            *(Job(MAIL, one.id) for one in urgent),
        )
