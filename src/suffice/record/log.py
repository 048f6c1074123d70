"""The decision log: append, read, erase and verify records.

>>> log = Log.open("suffice.db")
>>> log.write(verdict)
'01jcq…'
>>> log.verify().whole
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from suffice.log import entry
from suffice.log.breaks import Verified
from suffice.log.checkpoints.checkpoint import Checkpoint
from suffice.log.checkpoints.schedule import Schedule, Signer
from suffice.log.entry import Choice, Entry
from suffice.log.erasure import Eraser
from suffice.log.moment import Clock, now
from suffice.log.prepare import Prepare
from suffice.log.record import Record
from suffice.log.seal import Head, head_of, seal
from suffice.log.verify import Progress, verify
from suffice.log.writer import Writer
from suffice.record.decision import Filing, of_gate, of_verdict
from suffice.record.sampling import Sampler, queued
from suffice.record.trace import Trace
from suffice.settings import RecordSettings
from suffice.sql.database import Database
from suffice.sql.toolkit import Connection
from suffice.types import Evidence, GateDecision, Verdict

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
            sealed=self._schedule.sealed if self._schedule else lambda head: None,
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

    def append(self, *records: Record) -> None:
        """Seal the records in one transaction and return when they are committed (with `durable:
        queued`, when they are queued). If this raises, the answer must not be released."""
        known = self._writer.known
        self._writer.append([self._prepare(record) for record in records if record.id not in known])

    def append_if(self, check: Callable[[Connection], None], *records: Record) -> None:
        """Seal the records unless `check` raises. It sees every record sealed so far, and no other
        record is sealed in between. Return when the records are committed."""
        prepared = [self._prepare(record) for record in records]
        with self.database.writing() as connection:
            head_of(connection, hold=True)
            check(connection)
            head = seal(connection, prepared, self._clock())
        if self._schedule:
            self._schedule.sealed(head)

    def write(
        self,
        verdict: Verdict,
        trace: Trace | None = None,
        filing: Filing = NOWHERE,
    ) -> str:
        """Record a verdict, and its gap and review queue entry if any. Return the id of its
        record."""
        draw = self._sampler.verdict(verdict)
        return self.file(queued(of_verdict(verdict, trace, filing), draw), filing)

    def write_gate(
        self,
        evidence: Evidence,
        decision: GateDecision,
        trace: Trace | None = None,
        filing: Filing = NOWHERE,
    ) -> str:
        """Record a gate decision without an answer; return the id of its record."""
        draw = self._sampler.gate(decision)
        return self.file(queued(of_gate(evidence, decision, trace, filing), draw), filing)

    @property
    def eraser(self) -> Eraser:
        return Eraser(self.database, self._prepare, self._clock)

    def file(self, records: Sequence[Record], filing: Filing) -> str:
        """Append the records of one decision with its setup; return the id of the first."""
        before = [filing.setup] if filing.setup else []
        self.append(*before, *records)
        return records[0].id

    # Reading

    def head(self) -> Head:
        with self.database.reading() as connection:
            return head_of(connection)

    def entry(self, name: str) -> Entry:
        """Find a record by its id or number."""
        with self.database.reading() as connection:
            return entry.find(connection, name)

    def page(self, choice: Choice | None = None, most: int = PAGE) -> list[Entry]:
        """The newest records, newest first; for the next page, set `before` in `choice`."""
        with self.database.reading() as connection:
            return entry.page(connection, choice or Choice(), most)

    def entries(self, choice: Choice | None = None) -> Iterator[Entry]:
        """All selected records, oldest first, from one snapshot of the log."""
        with self.database.reading() as connection:
            yield from entry.entries(connection, choice or Choice())

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
