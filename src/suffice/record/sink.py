"""Who keeps the decisions of a pipeline: the seam, and the one that keeps them in a log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from suffice.errors import StoreError
from suffice.record.decision import Filing
from suffice.record.log import NOWHERE, Log
from suffice.record.trace import Trace
from suffice.types import Evidence, GateDecision, Verdict


class RecordSink(Protocol):
    """Keeps every decision before it leaves, and gives its record a name. Where it fails, nothing
    leaves."""

    def verdict(self, verdict: Verdict, trace: Trace) -> str: ...

    def gate(self, evidence: Evidence, decision: GateDecision, trace: Trace) -> str: ...


@dataclass(frozen=True, slots=True)
class Recorder:
    """Keeps decisions in a log, filed under who asks."""

    log: Log
    filing: Filing = NOWHERE

    def by(self, caller: str, tag: str = "") -> Recorder:
        """The same for another caller."""
        return replace(self, filing=replace(self.filing, caller=caller, tag=tag))

    def verdict(self, verdict: Verdict, trace: Trace) -> str:
        with _closed():
            return self.log.write(verdict, trace, self.filing)

    def gate(self, evidence: Evidence, decision: GateDecision, trace: Trace) -> str:
        with _closed():
            return self.log.write_gate(evidence, decision, trace, self.filing)


@contextmanager
def _closed() -> Iterator[None]:
    """A decision that is not recorded does not leave; it is said why."""
    try:
        yield
    except StoreError as problem:
        raise type(problem)(
            f"The decision could not be recorded, so it does not leave. {problem.message}",
            remedy=problem.remedy or "Run: suffice audit verify; or set record.enabled to never.",
        ) from problem
