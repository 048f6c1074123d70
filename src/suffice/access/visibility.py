"""What a reader of a record may see of it: rights travel with documents, also into the log.

A draft, an answer, a finding or a reason may say in other words what a passage says. Where a record
rests on a passage that its reader may not read, none of these is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from suffice.access.keys import ALL, Principal
from suffice.evidence.index import PUBLIC
from suffice.log.entry import Entry
from suffice.record.decision import Decision
from suffice.types import Evidence, GateDecision, Passage, Source, Verdict

NOT_SHOWN = "Not shown: it rests on passages that you may not read."


@dataclass(frozen=True, slots=True)
class Reader:
    """Who looks at records: holds labels, and may use collections."""

    labels: frozenset[str] = frozenset()
    collections: frozenset[str] = frozenset({ALL})

    @classmethod
    def of(cls, principal: Principal) -> Reader:
        return cls(principal.labels, principal.collections)

    def may_read(self, passage: Passage) -> bool:
        labels = passage.access or {PUBLIC}
        return self._uses(passage.collection) and bool(labels & (self.labels | {PUBLIC}))

    def may_know(self, entry: Entry) -> bool:
        """Whether there is such a record, for this reader: something in it is of a collection that
        it may use. Where that cannot be told any more, there is none."""
        if ALL in self.collections:
            return True
        passages = entry.fields().get("passages", ())
        return any(self._uses(one.get("collection", "default")) for one in passages)

    def _uses(self, collection: str) -> bool:
        return bool(self.collections & {ALL, collection})


@dataclass(frozen=True, slots=True)
class Seen:
    """A decision as one reader sees it, and how many of its passages that leaves out."""

    evidence: Evidence
    gate: GateDecision
    verdict: Verdict | None = None
    hidden: int = 0


def seen(decision: Decision, verdict: Verdict | None, reader: Reader | None) -> Seen:
    """`verdict` is what holds now; without a reader, all is seen."""
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
"""A document, and which version of it."""


def readable(decision: Decision, reader: Reader) -> frozenset[Version]:
    """What of the documents of a decision a reader may know of."""
    passages = [passage for passage in _all(decision) if reader.may_read(passage)]
    return frozenset((passage.document, passage.version) for passage in passages)


def _all(decision: Decision) -> Iterator[Passage]:
    """Every passage that a decision rests on or shows."""
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
        excluded=tuple(one for one in gate.excluded if one.passage.id not in hidden),
        conflicts=tuple(
            one for one in gate.conflicts if not {one.first.id, one.second.id} & hidden
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
    return tuple(one for one in sources if (one.document, one.version) in versions)
