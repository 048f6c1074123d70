"""The weekly sample: randomly drawn served and withheld answers for the review queue.

Each stratum (served, withheld) is a simple random sample without replacement from the answers of
the week that are not already in the queue. The sampling probability of an answer is stored with it,
so that estimates can weight it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from suffice.log.entry import Choice
from suffice.log.moment import read, timestamp
from suffice.log.payload import values
from suffice.log.record import Record
from suffice.log.tables import RECORDS
from suffice.record.about import QUEUE, subject_of
from suffice.record.decision import VERDICT
from suffice.record.log import Log
from suffice.record.sampling import Why
from suffice.settings import Settings
from suffice.sql.toolkit import Connection, select
from suffice.types import Action

WEEK = timedelta(days=7)
SAMPLE = "review_sample"
_SERVED = (Action.SERVE.value, Action.CAVEAT.value, Action.CONFLICT.value)


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
    """Draws the sample of one log."""

    log: Log
    settings: Settings
    random: random.Random = field(default_factory=random.SystemRandom)

    def due(self, sampled: str, now: datetime) -> str | None:
        """The end of the week to sample; `None` if the week is not over. The first call starts the
        first week."""
        if not sampled:
            return timestamp(now)
        return timestamp(read(sampled) + WEEK) if now - read(sampled) >= WEEK else None

    def draw(self, since: str, until: str) -> int:
        """Send the sample of a week for review; return the number of answers."""
        monitor = self.settings.monitor
        served = 0 if self.settings.record.review_sample else monitor.weekly_served
        strata = {
            True: Stratum(served, self.random),
            False: Stratum(monitor.weekly_withheld, self.random),
        }
        week = Choice(since=since, until=until)
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

    def offer(self, connection: Connection, week: Choice, strata: dict[bool, Stratum]) -> None:
        """Offer each answer of the week that is not queued to its stratum, served or withheld."""
        queued = week.narrowed(select(RECORDS.c.id)).where(RECORDS.c.kind == QUEUE)
        known = {subject_of(id) for id in connection.scalars(queued)}
        asked = week.narrowed(select(RECORDS.c.id, RECORDS.c.payload))
        asked = asked.where(RECORDS.c.kind == VERDICT).order_by(RECORDS.c.sequence)
        rows = connection.execution_options(yield_per=200).execute(asked)
        for id, payload in rows:
            outcome = values(payload, ("outcome",)).get("outcome")
            if id not in known and isinstance(outcome, dict):
                strata[outcome.get("action") in _SERVED].offer(id)

    def _record(
        self, connection: Connection, id: str, probability: float, *, served: bool
    ) -> Record:
        row = connection.execute(select(RECORDS).where(RECORDS.c.id == id)).one()
        question = values(row.payload, ("question",)).get("question", "")
        entered = {
            "record": id,
            "question": question,
            "why": [Why.WEEKLY.value],
            "probability": probability,
            "served": served,
        }
        return Record(QUEUE, entered, row.caller or "", row.tag or "", f"{id}.{QUEUE}", once=True)

    def _summary(self, since: str, until: str, strata: dict[bool, Stratum]) -> Record:
        """How many answers there were, and how many were drawn."""
        names = {True: "served", False: "withheld"}
        counts = {
            names[served]: {"population": one.population, "drawn": len(one.held)}
            for served, one in strata.items()
        }
        return Record(SAMPLE, {"since": since, "until": until, **counts})
