"""One step of the monitor, without I/O: the state after more records, and what has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from suffice.learn.calibrate.certificate import Certificate
from suffice.learn.monitor.guarantee import Guarantee, Status
from suffice.learn.monitor.martingale import Martingale, Side
from suffice.learn.monitor.metrics import METRICS, Days, Mean, Metric, figures
from suffice.learn.monitor.observe import Observed
from suffice.learn.monitor.state import Alarm, DeepCounts, State, Tested, Tracked
from suffice.log.moment import read, timestamp
from suffice.settings import MonitorSettings

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
        known = dict(state.certificates)
        mine = {one.id: one for one in self.certificates if one.certified}
        for id, certificate in mine.items():
            if id not in known:
                known[id] = self._started(state, certificate)
        if known.keys() == state.certificates.keys():
            return state
        others = [id for id in known if id not in mine]
        for id in others[: max(len(known) - _MOST, 0)]:
            del known[id]
        return replace(state, certificates=known)

    def _started(self, state: State, certificate: Certificate) -> Tested:
        held = state.guarantee(certificate)
        if held.status is Status.SUSPENDED:
            return Tested(held, None)
        active = Guarantee(Status.ACTIVE, timestamp(self.now), certificate.promise, certificate.id)
        applied = certificate.applied
        gate = applied.gate if applied and applied.gate else 0.0
        return Tested(active, Martingale.of(Side.BOTH, certificate.reference), gate)

    def _tested(self, state: State, observed: Sequence[Observed]) -> State:
        known = {id: self._after(one, id, observed) for id, one in state.certificates.items()}
        new = [
            one.guarantee
            for id, one in known.items()
            if one.guarantee.status is Status.SUSPENDED
            and state.certificates[id].guarantee.status is not Status.SUSPENDED
        ]
        return replace(state, certificates=known, suspended=(*state.suspended, *new))

    def _after(self, before: Tested, id: str, observed: Sequence[Observed]) -> Tested:
        """Test the answers like those of the reference: under the certificate, at an open gate."""
        live = [
            (one, one.covered)
            for one in observed
            if one.covered is not None
            and one.covered.certificate == id
            and one.covered.gate >= before.gate
        ]
        if before.test is None or not live:
            return before
        test, wealth = before.test.after(
            [own.confidence for _, own in live], [one.tie(_EXCHANGEABILITY) for one, _ in live]
        )
        after = replace(before, test=test)
        over = (wealth >= 1 / self.settings.level).nonzero()[0]
        if not len(over) or before.guarantee.status is Status.SUSPENDED:
            return after
        first, _ = live[int(over[0])]
        seen = test.steps - len(live) + int(over[0]) + 1
        why = (
            f"The confidences of {seen:,} live answers are no longer exchangeable with those of "
            f"the calibration (test at level {self.settings.level:g}). Calibrate again."
        )
        return replace(after, guarantee=Guarantee(Status.SUSPENDED, first.time, why, id))

    # The metrics

    def _tracked(self, before: Tracked, metric: Metric, observed: Sequence[Observed]) -> Tracked:
        found = [
            (record, one)
            for record in observed
            for one in record.observations
            if one.metric is metric
        ]
        days = dict(before.days)
        for record, one in found:
            day, old = record.time[:10], days.get(record.time[:10], Mean())
            days[day] = Mean(old.count + one.counts, old.total + one.value)
        test, rejected = before.test, before.rejected
        if test is not None and found:
            ties = [record.tie(metric) for record, _ in found]
            test, wealth = test.after([one.value for _, one in found], ties)
            over = (wealth >= 1 / self.settings.level).nonzero()[0]
            if len(over) and not rejected:
                rejected = found[int(over[0])][0].time
        return Tracked(self._kept(days), test, rejected)

    def _kept(self, days: Mapping[str, Mean]) -> Days:
        span = self.settings.window_days + self.settings.baseline_days
        oldest = (self.now - timedelta(days=span)).date().isoformat()
        return {day: one for day, one in days.items() if day >= oldest}

    def _alarmed(self, state: State) -> State:
        """Raise and clear the alarms. The test of a metric restarts once its alarm is cleared, or
        if the metric did not cross its published limit within a window after the test rejected."""
        tracked, alarms = dict(state.tracked), []
        was = {alarm.metric: alarm for alarm in state.alarms}
        for metric, definition in METRICS.items():
            own = tracked[metric]
            found = figures(own.days, self.now.date(), self.settings)
            exceeded = definition.exceeded(found, self.settings)
            sure = definition.side is None or bool(own.rejected)
            if exceeded and (metric in was or sure):
                new = Alarm(
                    metric, state.time, state.sequence, found.window.value, found.baseline.value
                )
                alarms.append(was.get(metric, new))
            elif own.test is not None and (metric in was or self._old(own.rejected)):
                tracked[metric] = replace(own, test=own.test.restarted(), rejected="")
        return replace(state, tracked=tracked, alarms=tuple(alarms))

    def _old(self, rejected: str) -> bool:
        window = timedelta(days=self.settings.window_days)
        return bool(rejected) and self.now - read(rejected) > window


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
