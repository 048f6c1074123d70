"""The interface through which a pipeline records decisions, and its implementation for a log."""

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
