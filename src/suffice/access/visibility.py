"""Visibility of records: access rights of documents also apply to records that use them.

A draft, answer, finding or reason may paraphrase a passage. If the reader may not read one of a
record's passages, all of these are hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from suffice.access.keys import ALL, Principal
from suffice.evidence.index import PUBLIC
from suffice.evidence.rows import VersionInfo
from suffice.log.entry import Entry
from suffice.record.decision import Decision
from suffice.types import Evidence, GateDecision, Passage, Source, Verdict

NOT_SHOWN = "Hidden: it is based on passages that you may not read."


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of records, with access labels and collections."""

    labels: frozenset[str] = frozenset()
    collections: frozenset[str] = frozenset({ALL})
    _held: frozenset[str] = field(init=False, repr=False, compare=False)
    """The labels and the public one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_held", self.labels | {PUBLIC})

    @classmethod
    def of(cls, principal: Principal) -> Reader:
        return cls(principal.labels, principal.collections)

    def may_read(self, passage: Passage | VersionInfo) -> bool:
        return self.may_use(passage.collection, passage.access)

    def may_use(self, collection: str, access: Iterable[str]) -> bool:
        """Whether the reader may read documents of a collection with these access labels."""
        labels = tuple(access)
        return self.uses(collection) and (not labels or not self._held.isdisjoint(labels))

    @property
    def knows_all(self) -> bool:
        """Whether the reader may know of every record."""
        return ALL in self.collections

    def may_know(self, entry: Entry) -> bool:
        """Whether the reader may know that the record exists: at least one of its passages is in a
        collection the reader may use. False if the passages are no longer stored."""
        if self.knows_all:
            return True
        passages = entry.fields().get("passages", ())
        return any(self.uses(passage.get("collection", "default")) for passage in passages)

    def uses(self, collection: str) -> bool:
        return ALL in self.collections or collection in self.collections


@dataclass(frozen=True, slots=True)
class Seen:
    """A decision as a reader may see it, and the number of hidden passages."""

    evidence: Evidence
    gate: GateDecision
    verdict: Verdict | None = None
    hidden: int = 0


def seen(decision: Decision, verdict: Verdict | None, reader: Reader | None) -> Seen:
    """The decision as `reader` may see it. `verdict` is the current verdict. A reader of `None`
    sees everything."""
    everything = Seen(decision.evidence, decision.gate, verdict)
    hidden = {} if reader is None else {p.id: p for p in _all(decision) if not reader.may_read(p)}
    if reader is None or not hidden:
        return everything
    left = tuple(item for item in decision.evidence if item.passage.id not in hidden)
    evidence = replace(decision.evidence, items=left, notes=())
    gate = _gate(decision.gate, frozenset(hidden))
    near = readable(decision, reader)
    return Seen(evidence, gate, _verdict(verdict, evidence, gate, near), len(hidden))


Version = tuple[str, str]
"""A document and its version."""


def readable(decision: Decision, reader: Reader) -> frozenset[Version]:
    """The documents of a decision that a reader may know about."""
    passages = [passage for passage in _all(decision) if reader.may_read(passage)]
    return frozenset((passage.document, passage.version) for passage in passages)


def _all(decision: Decision) -> Iterator[Passage]:
    """Every passage that a decision uses or shows."""
    yield from decision.trace.found.passages
    yield from decision.evidence.passages
    yield from (item.passage for item in decision.trace.earlier)
    for exclusion in decision.gate.excluded:
        yield exclusion.passage
    for conflict in decision.gate.conflicts:
        yield from (conflict.first, conflict.second)
    if decision.verdict is not None:
        yield from (citation.passage for citation in decision.verdict.citations)


def _gate(gate: GateDecision, hidden: frozenset[str]) -> GateDecision:
    return replace(
        gate,
        reasons=(NOT_SHOWN,),
        missing=(),
        next_steps=(),
        factors=(),
        signals=tuple(replace(signal, note="") for signal in gate.signals),
        excluded=tuple(item for item in gate.excluded if item.passage.id not in hidden),
        conflicts=tuple(
            item for item in gate.conflicts if not {item.first.id, item.second.id} & hidden
        ),
    )


def _verdict(
    verdict: Verdict | None, evidence: Evidence, gate: GateDecision, versions: frozenset[Version]
) -> Verdict | None:
    if verdict is None:
        return None
    return replace(
        verdict,
        reason=NOT_SHOWN,
        gate=gate,
        evidence=evidence,
        draft=None,
        attempts=(),
        released="",
        findings=(),
        citations=(),
        missing=(),
        nearest=known(verdict.nearest, versions),
        notes=(),
    )


def known(sources: tuple[Source, ...], versions: frozenset[Version]) -> tuple[Source, ...]:
    return tuple(item for item in sources if (item.document, item.version) in versions)
