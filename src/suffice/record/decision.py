"""Decisions as records, and back: what a verdict or a gate says, field by field.

Passages, claims and drafts stand once each, and are named by their place wherever they occur. The
texts of passages stand apart from what else is known of them, so that they can be left out alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from suffice.errors import StoreError
from suffice.log.entry import Entry
from suffice.log.record import Record
from suffice.record.codec import Shelf, Shelves, laid_out, plain, rebuilt, value_of
from suffice.record.trace import Trace
from suffice.types import Claim, Draft, Evidence, GateDecision, Level, Passage, Source, Verdict
from suffice.verdict.decide import nearest

VERDICT, GATE, GAP = "verdict", "gate", "gap"
_TEXTS = ("text", "summary")
# What of a verdict stands in a field of its own, or is the name of the record itself.
_APART = {"question", "gate", "evidence", "draft", "attempts", "released", "findings", "record"}
_OUTCOME = tuple(field.name for field in fields(Verdict) if field.name not in _APART)


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision as it was recorded: a verdict with its gate, or a gate alone."""

    evidence: Evidence
    gate: GateDecision
    trace: Trace
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Filing:
    """What a record is filed under: who asked, whom or what it is about, the record of the setup
    (models, settings, versions) it was decided with, and the certificate of the thresholds in use
    (empty where they have none)."""

    caller: str = ""
    tag: str = ""
    setup: Record | None = None
    certificate: str = ""


def of_verdict(verdict: Verdict, trace: Trace | None, filing: Filing) -> list[Record]:
    """The record of a verdict, and that of the gap where it tells of one."""
    shelves = _shelves()
    draft = plain(verdict.draft, shelves)
    attempts = plain(verdict.attempts, shelves)
    said = {
        "findings": plain(verdict.findings, shelves),
        "released": verdict.released,
        "outcome": {name: plain(getattr(verdict, name), shelves) for name in _OUTCOME},
    }
    written = [laid_out(one, shelves) for one in shelves[Draft].entries]
    said["drafts"] = {"all": written, "draft": draft, "attempts": attempts}
    weighed = _weighed(verdict.evidence, verdict.gate, trace, shelves, filing)
    record = _record(VERDICT, {**weighed, **said}, filing)
    gated = verdict.gate.policy != "none"  # an answer from elsewhere tells of no documents
    if not (verdict.gap and gated):
        return [record]
    return [record, _gap(record, verdict.missing, verdict.nearest, verdict.reason)]


def of_gate(
    evidence: Evidence, gate: GateDecision, trace: Trace | None, filing: Filing
) -> list[Record]:
    """The record of a gate that was asked alone, and that of the gap where it tells of one."""
    record = _record(GATE, _weighed(evidence, gate, trace, _shelves(), filing), filing)
    if gate.level is not Level.INSUFFICIENT:
        return [record]
    return [record, _gap(record, gate.missing, nearest(evidence), "; ".join(gate.reasons))]


def decision_of(entry: Entry) -> Decision:
    """The decision that a record holds; what is not stored of it is told."""
    if entry.kind not in (VERDICT, GATE):
        raise StoreError(
            f"Record {entry.id} is of the kind '{entry.kind}': there is no decision in it.",
            remedy=f"Name a record of the kind '{VERDICT}' or '{GATE}'.",
        )
    said = entry.fields()
    lacking = [*entry.not_stored, *entry.erased]
    if needed := [name for name in lacking if name not in ("who", "timings", "thresholds")]:
        raise StoreError(
            f"Record {entry.id} no longer says all: {', '.join(needed)} is not stored.",
            remedy="Only a record that holds its inputs can be read back.",
        )
    shelves = _read_shelves(said)
    evidence, trace = _read_evidence(said, shelves)
    gate = value_of(GateDecision, said["gate"], shelves)
    verdict = _read_verdict(said, shelves, evidence, gate) if entry.kind == VERDICT else None
    return Decision(evidence, gate, trace, verdict)


def _shelves() -> Shelves:
    return {Passage: Shelf(), Claim: Shelf(), Draft: Shelf()}


def _record(kind: str, said: Mapping[str, Any], filing: Filing) -> Record:
    return Record(kind, said, filing.caller, filing.tag)


def _gap(of: Record, missing: Sequence[str], near: Sequence[Source], reason: str) -> Record:
    """A question that the documents cannot answer, beside the record that says so."""
    said = {
        "record": of.id,
        "question": of.fields["question"],
        "missing": list(missing),
        "nearest": plain(tuple(near)),
        "reason": reason,
    }
    return Record(GAP, said, of.caller, of.tag, f"{of.id}.{GAP}")


def _weighed(
    evidence: Evidence, gate: GateDecision, trace: Trace | None, shelves: Shelves, filing: Filing
) -> dict[str, Any]:
    """What a gate and a verdict have in common."""
    trace = trace or Trace(evidence)
    found = {
        "found": None if trace.found == evidence else _evidence(trace.found, shelves),
        "counted": _evidence(evidence, shelves),
        "when": plain(trace.when),
        "day": plain(trace.day),
        "earlier": plain(trace.earlier, shelves),
    }
    decided = plain(gate, shelves)
    passages = [laid_out(passage) for passage in shelves[Passage].entries]
    held = {one.name: one.threshold for one in gate.signals if one.threshold is not None}
    return {
        "question": evidence.question,
        "passages": [_without(passage, _TEXTS) for passage in passages],
        "texts": [[passage.get(name, "") for name in _TEXTS] for passage in passages],
        "evidence": found,
        "gate": decided,
        "claims": [laid_out(claim) for claim in shelves[Claim].entries],
        "thresholds": {"certificate": filing.certificate, "signals": held},
        "setup": filing.setup.id if filing.setup else "",
        "timings": plain(trace.timings),
    }


def _evidence(evidence: Evidence, shelves: Shelves) -> dict[str, Any]:
    return _without(laid_out(evidence, shelves), ("question",))


def _without(tree: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in tree.items() if name not in names}


def _read_shelves(said: Mapping[str, Any]) -> Shelves:
    pairs = zip(said["passages"], said["texts"], strict=True)
    passages = [
        rebuilt(Passage, {**known, **dict(zip(_TEXTS, texts, strict=True))})
        for known, texts in pairs
    ]
    shelves = {
        Passage: Shelf(passages),
        Claim: Shelf([rebuilt(Claim, claim) for claim in said["claims"]]),
    }
    drafts = said.get("drafts", {}).get("all", ())
    return {**shelves, Draft: Shelf([rebuilt(Draft, draft, shelves) for draft in drafts])}


def _read_evidence(said: Mapping[str, Any], shelves: Shelves) -> tuple[Evidence, Trace]:
    tree, question = said["evidence"], {"question": said["question"]}
    evidence = rebuilt(Evidence, {**tree["counted"], **question}, shelves)
    found = tree["found"]
    trace = rebuilt(
        Trace,
        {**_without(tree, ("found", "counted")), "timings": said.get("timings", ())},
        shelves,
        found=rebuilt(Evidence, {**found, **question}, shelves) if found else evidence,
    )
    return evidence, trace


def _read_verdict(
    said: Mapping[str, Any], shelves: Shelves, evidence: Evidence, gate: GateDecision
) -> Verdict:
    drafts = said["drafts"]
    tree = {
        **said["outcome"],
        "question": said["question"],
        "released": said["released"],
        "findings": said["findings"],
        "draft": drafts["draft"],
        "attempts": drafts["attempts"],
    }
    return rebuilt(Verdict, tree, shelves, evidence=evidence, gate=gate)
