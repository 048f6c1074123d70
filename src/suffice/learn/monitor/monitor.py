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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from suffice.learn.calibrate.certificate import Certificate
from suffice.learn.monitor.advance import Change, Step, changes
from suffice.learn.monitor.guarantee import Guarantee, read_certificates
from suffice.learn.monitor.jobs import DEEP_CHECK, MAIL
from suffice.learn.monitor.observe import KINDS, Observed, observe
from suffice.learn.monitor.state import Job, State, StateStore
from suffice.learn.monitor.weekly import Weekly
from suffice.log.entry import entry_of
from suffice.log.moment import Clock, now
from suffice.log.record import Record
from suffice.log.tables import RECORDS
from suffice.record.log import Log
from suffice.settings import Settings
from suffice.sql.toolkit import select
from suffice.webhooks.events import ALARM, GUARANTEE

_LOG = logging.getLogger("suffice.monitor")
_PORTION = 500
_URGENT = ("raised", "suspended")


@dataclass(frozen=True, slots=True)
class Monitor:
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
    def store(self) -> StateStore:
        return StateStore(self.log.database)

    @property
    def state(self) -> State:
        return self.store.read()[0]

    def catch_up(self) -> State:
        """Read all records of the log that have not been read yet, and draw the weekly sample if it
        is due."""
        while self.update():
            pass
        self.sample()
        return self.state

    def update(self) -> bool:
        """Read some more records; return whether there may be more."""
        before, version = self.store.read()
        observed, more = self._new(before.sequence)
        step = Step(self.settings.monitor, tuple(self.certificates.values()), self.clock())
        after = step.after(before, observed)
        found = list(changes(before, after, self.settings.monitor))
        if not observed and not found and after == before:
            return False
        # Written before the state: after a crash in between, they are repeated with the same ids.
        self._report(found)
        if not self.store.save(after, version, self._jobs(observed, found), self.seconds()):
            return True  # another process was first
        for one in found:
            level = logging.WARNING if one.what in _URGENT else logging.INFO
            kind = "Guarantee" if one.about == GUARANTEE else "Alarm"
            _LOG.log(level, "%s %s: %s", kind, one.what, one.text)
        return more

    def _new(self, after: int) -> tuple[list[Observed], bool]:
        asked = select(RECORDS).where(RECORDS.c.sequence > after, RECORDS.c.kind.in_(KINDS))
        similar = self.settings.search.min_dense_similarity
        with self.log.database.reading() as connection:
            rows = connection.execute(asked.order_by(RECORDS.c.sequence).limit(_PORTION)).all()
        return [observe(entry_of(row), similar) for row in rows], len(rows) == _PORTION

    def _report(self, found: Sequence[Change]) -> None:
        """Write changes to the log, so that removing them is detectable and webhooks send them."""
        for one in found:
            fields = {"about": one.about, "what": one.what, "text": one.text}
            figures = {"value": one.value, "baseline": one.baseline}
            kind, more = ALARM, {}
            if one.about == GUARANTEE:
                kind, more = GUARANTEE, {"certificate": one.certificate}
            self.log.append(Record(kind, {**fields, **figures, **more}, id=one.id, once=True))

    def _jobs(self, observed: Sequence[Observed], found: Sequence[Change]) -> list[Job]:
        share = self.settings.monitor.deep_share if self.deep else 0.0
        drawn = [one for one in observed if one.drafted and share and self.chance() < share]
        mail = self.settings.monitor.mail.host
        urgent = [one for one in found if mail and one.what in _URGENT]
        jobs = [Job(DEEP_CHECK, one.id) for one in drawn]
        return [*jobs, *(Job(MAIL, one.id) for one in urgent)]

    def sample(self) -> int:
        """Draw the weekly sample if it is due; return the number of answers sent for review."""
        before, version = self.store.read()
        weekly = Weekly(self.log, self.settings)
        until = weekly.due(before.sampled, self.clock())
        if until is None:
            return 0
        # The week is marked as sampled first: two processes would otherwise both draw from it.
        if not self.store.save(replace(before, sampled=until), version) or not before.sampled:
            return 0
        return weekly.draw(before.sampled, until)
