"""The decision log: append, read, erase and verify records.

>>> log = Log.open("suffice.db")
>>> log.write(verdict)
'01jcq…'
>>> log.verify().whole
True
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from suffice.errors import StoreError
from suffice.log.chain import Clock, now
from suffice.log.checkpoints import Checkpoint, Schedule, Signer
from suffice.log.decision import QUEUE, Filing, of_gate, of_verdict
from suffice.log.erasure import Eraser
from suffice.log.record import Entry, Record
from suffice.log.stored import RecordFilter, find
from suffice.log.stored import entries as stored_entries
from suffice.log.stored import page as stored_page
from suffice.log.trace import Trace
from suffice.log.verify import Progress, Verified, verify
from suffice.log.writer import Head, Prepare, Writer, head_of, seal
from suffice.settings import RecordSettings
from suffice.sql import sa
from suffice.sql.database import Database
from suffice.types import Action, Evidence, GateDecision, Level, Verdict

SAMPLING = "sampling"
_ROUNDING = 1e-9


class Why(StrEnum):
    """The reason a decision is in the review queue."""

    REVIEW = "review"
    """The verdict, or the level of the gate, is REVIEW."""
    FABRICATED = "fabricated"
    """A draft cited a source that does not exist, regardless of the released text."""
    CONFLICT = "conflict"
    """Passages contradict each other."""
    BORDERLINE = "borderline"
    """The gate's score was near its threshold."""
    SAMPLED = "sampled"
    """A random sample, to estimate the error rate."""
    WEEKLY = "weekly"
    """The monitor's weekly random sample of served and withheld answers."""
    FEEDBACK = "feedback"
    """A user rated the answer down."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The result of the selection; `probability` is the chance of being selected. Only `served`
    answers count in the estimate of the error rate."""

    why: tuple[Why, ...]
    probability: float
    served: bool


def borderline(gate: GateDecision, margin: float) -> bool:
    """Whether the decisive score of the gate is within `margin` of its threshold."""
    decisive = (signal for signal in gate.signals if signal.value == gate.score)
    return margin > 0 and any(
        signal.threshold is not None and abs(gate.score - signal.threshold) <= margin + _ROUNDING
        for signal in decisive
    )


@dataclass(frozen=True, slots=True)
class Sampler:
    """Selects decisions by the configured rules and at random."""

    rate: float = 0.0
    margin: float = 0.0
    chance: Callable[[], float] = field(default=random.SystemRandom().random)
    """Returns a uniform random number in [0, 1)."""

    @classmethod
    def of(cls, settings: RecordSettings) -> Sampler:
        return cls(settings.review_sample, settings.review_borderline)

    def verdict(self, verdict: Verdict) -> Draw:
        why = [Why.REVIEW] if verdict.action is Action.REVIEW else []
        why += [Why.FABRICATED] if verdict.fabricated else []
        conflict = verdict.action is Action.CONFLICT or verdict.gate.level is Level.CONFLICT
        why += [Why.CONFLICT] if conflict else []
        return self._draw(verdict.gate, why, served=verdict.served)

    def gate(self, gate: GateDecision) -> Draw:
        always = {Level.REVIEW: [Why.REVIEW], Level.CONFLICT: [Why.CONFLICT]}
        why = always.get(gate.level, [])
        return self._draw(gate, why, served=False)

    def _draw(self, gate: GateDecision, why: Sequence[Why], *, served: bool) -> Draw:
        near = [Why.BORDERLINE] if borderline(gate, self.margin) else []
        if why or near:
            return Draw((*why, *near), 1.0, served)
        if not served:
            return Draw((), 0.0, served)
        drawn = self.chance() < self.rate
        return Draw((Why.SAMPLED,) if drawn else (), self.rate, served)


def queued(records: list[Record], draw: Draw) -> list[Record]:
    """Add the sampling data to the records of a decision, and a queue record if it was selected."""
    first, *rest = records
    if draw.served:
        sampling = {"probability": draw.probability, "drawn": bool(draw.why)}
        first = replace(first, fields={**first.fields, SAMPLING: sampling})
    if draw.why:
        who = (first.caller, first.tag)
        rest.append(queue_record(first.id, first.fields["question"], draw, who))
    return [first, *rest]


def queue_record(
    decision: str, question: object, draw: Draw, who: tuple[str, str], *, once: bool = False
) -> Record:
    """The record that puts a decision into the review queue; `who` is its caller and tag."""
    fields = {
        "record": decision,
        "question": question,
        "why": [why.value for why in draw.why],
        "probability": draw.probability,
        "served": draw.served,
    }
    return Record(QUEUE, fields, *who, id=f"{decision}.{QUEUE}", once=once)


PAGE = 20
NOWHERE = Filing()


class Log:
    """The log of a store. Thread-safe; each process must open its own, after any fork."""

    def __init__(
        self, database: Database, settings: RecordSettings | None = None, clock: Clock = now
    ) -> None:
        settings = settings or RecordSettings()
        self.database = database
        self.signer = Signer(database, settings.checkpoint, clock)
        self._prepare = Prepare.of(settings)
        self._sampler = Sampler.of(settings)
        self.review_rate = settings.review_sample
        self._clock = clock
        signs = settings.checkpoint.key_file and settings.checkpoint.destinations
        self._schedule = Schedule(self.signer) if signs else None
        self._writer = Writer(
            database,
            clock,
            queued=settings.durability == "queued",
            on_commit=self._schedule.on_commit if self._schedule else lambda head: None,
        )

    @classmethod
    def open(
        cls,
        where: str | Path,
        settings: RecordSettings | None = None,
        *,
        create: bool = False,
        wait: float = 60.0,
    ) -> Log:
        """Open the log in the store at a path or URL."""
        return cls(Database.open(where, create=create, wait=wait), settings)

    def close(self) -> None:
        """Seal all queued records and write a checkpoint if one is due."""
        try:
            self._writer.close()
        finally:
            if self._schedule:
                self._schedule.close()

    # Writing

    def append(self, *records: Record, setup: Record | None = None) -> None:
        """Seal the records in one transaction and return when they are committed (with `durable:
        queued`, when they are queued). If this raises, the answer must not be released. The record
        of their setup comes before them, unless it is in the log."""
        if setup is not None:
            records = (setup, *records)
        sealed = self._writer.sealed_once
        self._writer.append(
            [self._prepare(record) for record in records if record.id not in sealed]
        )

    def append_if(self, check: Callable[[sa.Connection], None], *records: Record) -> None:
        """Seal the records unless `check` raises. It sees every record sealed so far, and no other
        record is sealed in between. Return when the records are committed."""
        prepared = [self._prepare(record) for record in records]
        with self.database.writing() as connection:
            head_of(connection, hold=True)
            check(connection)
            head = seal(connection, prepared, self._clock())
        if self._schedule:
            self._schedule.on_commit(head)

    def write(
        self,
        verdict: Verdict,
        trace: Trace | None = None,
        filing: Filing = NOWHERE,
    ) -> str:
        """Record a verdict, and its gap and review queue entry if any. Return the id of its
        record."""
        draw = self._sampler.verdict(verdict)
        records = queued(of_verdict(verdict, trace, filing), draw)
        self.append(*records, setup=filing.setup)
        return records[0].id

    def write_gate(
        self,
        evidence: Evidence,
        decision: GateDecision,
        trace: Trace | None = None,
        filing: Filing = NOWHERE,
    ) -> str:
        """Record a gate decision without an answer; return the id of its record."""
        draw = self._sampler.gate(decision)
        records = queued(of_gate(evidence, decision, trace, filing), draw)
        self.append(*records, setup=filing.setup)
        return records[0].id

    def recorder(self, filing: Filing = NOWHERE) -> Recorder:
        """A recorder of decisions with this metadata."""
        return Recorder(self, filing)

    @property
    def eraser(self) -> Eraser:
        return Eraser(self.database, self._prepare, self._clock)

    # Reading

    def head(self) -> Head:
        with self.database.reading() as connection:
            return head_of(connection)

    def entry(self, name: str) -> Entry:
        """Find a record by its id or number."""
        with self.database.reading() as connection:
            return find(connection, name)

    def page(self, choice: RecordFilter | None = None, most: int = PAGE) -> list[Entry]:
        """The newest records, newest first; for the next page, set `before` in `choice`."""
        with self.database.reading() as connection:
            return stored_page(connection, choice or RecordFilter(), most)

    def entries(self, choice: RecordFilter | None = None) -> Iterator[Entry]:
        """All selected records, oldest first, from one snapshot of the log."""
        with self.database.reading() as connection:
            yield from stored_entries(connection, choice or RecordFilter())

    def verify(
        self,
        checkpoints: Sequence[Checkpoint] = (),
        *,
        key: str = "",
        deep: bool = False,
        progress: Progress = lambda done, total: None,
    ) -> Verified:
        """Verify the log; see `suffice.log.verify.verify`."""
        return verify(self.database, checkpoints, key=key, deep=deep, progress=progress)


class RecordSink(Protocol):
    """Records each decision before the answer is released, and returns the id of the record. If it
    raises, nothing is released."""

    def verdict(self, verdict: Verdict, trace: Trace) -> str: ...

    def gate(self, evidence: Evidence, decision: GateDecision, trace: Trace) -> str: ...


@dataclass(frozen=True, slots=True)
class Recorder:
    """Records decisions in a log under a caller and tag."""

    log: Log
    filing: Filing = NOWHERE

    def by(self, caller: str, tag: str = "") -> Recorder:
        """The same recorder for another caller."""
        return replace(self, filing=replace(self.filing, caller=caller, tag=tag))

    def verdict(self, verdict: Verdict, trace: Trace) -> str:
        with _closed():
            return self.log.write(verdict, trace, self.filing)

    def gate(self, evidence: Evidence, decision: GateDecision, trace: Trace) -> str:
        with _closed():
            return self.log.write_gate(evidence, decision, trace, self.filing)


@contextmanager
def _closed() -> Iterator[None]:
    """Turn a failure to record into an error that says why the answer is not released."""
    try:
        yield
    except StoreError as problem:
        raise type(problem)(
            f"The decision could not be recorded, so the answer is not released. {problem.message}",
            remedy=problem.remedy or "Run suffice audit verify, or set record.enabled to never.",
        ) from problem
