"""The log: append to it, look into it, erase from it, verify it.

>>> log = Log.open("suffice.db")
>>> log.write(verdict)
'01jcq…'
>>> log.verify().whole
True
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from suffice.log.seal import Head, head_of
from suffice.log.verify import Progress, verify
from suffice.log.writer import Writer
from suffice.record.decision import Filing, of_gate, of_verdict
from suffice.record.sampling import Sampler, queued
from suffice.record.trace import Trace
from suffice.settings import RecordSettings
from suffice.sql.database import Database
from suffice.types import Evidence, GateDecision, Verdict

PAGE = 20
NOWHERE = Filing()


class Log:
    """Safe to share between threads; each process opens its own, after any fork."""

    def __init__(
        self, database: Database, settings: RecordSettings | None = None, clock: Clock = now
    ) -> None:
        settings = settings or RecordSettings()
        self.database = database
        self.signer = Signer(database, settings.checkpoint, clock)
        self._prepare = Prepare.of(settings)
        self._sampler = Sampler.of(settings)
        self._clock = clock
        signs = settings.checkpoint.key and settings.checkpoint.to
        self._schedule = Schedule(self.signer) if signs else None
        self._writer = Writer(
            database,
            clock,
            queued=settings.durable == "queued",
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
        """The log in the store at a path or URL."""
        return cls(Database.open(where, create=create, wait=wait), settings)

    def close(self) -> None:
        """Everything that waits is sealed, a checkpoint that is due is written."""
        try:
            self._writer.close()
        finally:
            if self._schedule:
                self._schedule.close()

    # Writing

    def append(self, *records: Record) -> None:
        """Seals the records, together, and returns when they are committed (with `durable: queued`
        when they wait for it). What cannot be written is an error: then nothing may leave."""
        known = self._writer.known
        self._writer.append([self._prepare(one) for one in records if one.id not in known])

    def write(
        self,
        verdict: Verdict,
        trace: Trace | None = None,
        filing: Filing = NOWHERE,
    ) -> str:
        """Records a verdict, the gap it tells of where it does, and its place in the review queue
        where it comes there; the id of its record."""
        draw = self._sampler.verdict(verdict)
        return self.file(queued(of_verdict(verdict, trace, filing), draw), filing)

    def write_gate(
        self,
        evidence: Evidence,
        decision: GateDecision,
        trace: Trace | None = None,
        filing: Filing = NOWHERE,
    ) -> str:
        """Records the decision of a gate that was asked alone."""
        draw = self._sampler.gate(decision)
        return self.file(queued(of_gate(evidence, decision, trace, filing), draw), filing)

    @property
    def eraser(self) -> Eraser:
        return Eraser(self.database, self._prepare, self._clock)

    def file(self, records: Sequence[Record], filing: Filing) -> str:
        """Records of one decision, with the setup they were made with; the id of the first."""
        before = [filing.setup] if filing.setup else []
        self.append(*before, *records)
        return records[0].id

    # Reading

    def head(self) -> Head:
        with self.database.reading() as connection:
            return head_of(connection)

    def entry(self, name: str) -> Entry:
        """A record by its id, or by its number."""
        with self.database.reading() as connection:
            return entry.find(connection, name)

    def page(self, choice: Choice | None = None, most: int = PAGE) -> list[Entry]:
        """The newest records, newest first; the next page is `before` the last of this one."""
        with self.database.reading() as connection:
            return entry.page(connection, choice or Choice(), most)

    def entries(self, choice: Choice | None = None) -> Iterator[Entry]:
        """All records, oldest first, from one state of the log."""
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
        """What is wrong with the log, and where; see `verify`."""
        return verify(self.database, checkpoints, key=key, deep=deep, progress=progress)
