"""Converts verdicts and gate decisions to records and back.

Each passage, claim and draft is stored once and referenced by index. Passage texts are in a
separate field, so that they can be omitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from suffice.errors import StoreError
from suffice.log.record import Record
from suffice.record.codec import ValueTable, ValueTables, laid_out, plain, rebuilt, value_of
from suffice.record.trace import Trace
from suffice.types import Claim, Draft, Evidence, GateDecision, Level, Passage, Source, Verdict
from suffice.verdict.decide import nearest

if TYPE_CHECKING:
    from suffice.log.entry import Entry

VERDICT, GATE, GAP = "verdict", "gate", "gap"
UNGATED = "none"
"""The policy of the gate in verdicts of `check`, which has no gate."""
_TEXTS = ("text", "summary")
# Attributes of a verdict that have their own field, or are the id of the record.
_APART = {"question", "gate", "evidence", "draft", "attempts", "released", "findings", "record"}
_OUTCOME = tuple(field.name for field in fields(Verdict) if field.name not in _APART)


@dataclass(frozen=True, slots=True)
class Decision:
    """A recorded decision: a verdict with its gate decision, or a gate decision alone."""

    evidence: Evidence
    gate: GateDecision
    trace: Trace
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Filing:
    """Metadata of a record: the caller, the tag (person or case concerned), the setup record
    (models, settings, versions), and the certificate of the thresholds (empty if there is none)."""

    caller: str = ""
    tag: str = ""
    setup: Record | None = None
    certificate: str = ""


def of_verdict(verdict: Verdict, trace: Trace | None, filing: Filing) -> list[Record]:
    """The record of a verdict, plus a gap record if the verdict reveals a gap."""
    tables = _tables()
    draft = plain(verdict.draft, tables)
    attempts = plain(verdict.attempts, tables)
    fields = {
        "findings": plain(verdict.findings, tables),
        "released": verdict.released,
        "outcome": {name: plain(getattr(verdict, name), tables) for name in _OUTCOME},
    }
    written = [laid_out(entry, tables) for entry in tables[Draft].entries]
    fields["drafts"] = {"all": written, "draft": draft, "attempts": attempts}
    gate_fields = _gate_fields(verdict.evidence, verdict.gate, trace, tables, filing)
    record = _record(VERDICT, {**gate_fields, **fields}, filing)
    gated = verdict.gate.policy != UNGATED  # `check` reveals nothing about the documents
    if not (verdict.gap and gated):
        return [record]
    return [record, _gap(record, verdict.missing, verdict.nearest, verdict.reason)]


def of_gate(
    evidence: Evidence, gate: GateDecision, trace: Trace | None, filing: Filing
) -> list[Record]:
    """The record of a gate decision without an answer, plus a gap record if it reveals a gap."""
    record = _record(GATE, _gate_fields(evidence, gate, trace, _tables(), filing), filing)
    if gate.level is not Level.INSUFFICIENT:
        return [record]
    return [record, _gap(record, gate.missing, nearest(evidence), "; ".join(gate.reasons))]


def decision_of(entry: Entry) -> Decision:
    """Read the decision back from its record; raise if a needed field is not stored."""
    if entry.kind not in (VERDICT, GATE):
        raise StoreError(
            f"Record {entry.id} has the kind '{entry.kind}' and contains no decision.",
            remedy=f"Use a record of the kind '{VERDICT}' or '{GATE}'.",
        )
    fields = entry.fields()
    lacking = [*entry.not_stored, *entry.erased]
    if needed := [name for name in lacking if name not in ("who", "timings", "thresholds")]:
        raise StoreError(
            f"Record {entry.id} is incomplete. Fields not stored: {', '.join(needed)}.",
            remedy="Only a record with all its inputs can be read back.",
        )
    tables = _read_shelves(fields)
    evidence, trace = _read_evidence(fields, tables)
    gate = value_of(GateDecision, fields["gate"], tables)
    verdict = _read_verdict(fields, tables, evidence, gate) if entry.kind == VERDICT else None
    return Decision(evidence, gate, trace, verdict)


def _tables() -> ValueTables:
    return {Passage: ValueTable(), Claim: ValueTable(), Draft: ValueTable()}


def _record(kind: str, content: Mapping[str, Any], filing: Filing) -> Record:
    return Record(kind, content, filing.caller, filing.tag)


def _gap(of: Record, missing: Sequence[str], near: Sequence[Source], reason: str) -> Record:
    """The record of a question that the documents cannot answer."""
    content = {
        "record": of.id,
        "question": of.fields["question"],
        "missing": list(missing),
        "nearest": plain(tuple(near)),
        "reason": reason,
        "setup": of.fields["setup"],
    }
    return Record(GAP, content, of.caller, of.tag, f"{of.id}.{GAP}")


def _gate_fields(
    evidence: Evidence, gate: GateDecision, trace: Trace | None, tables: ValueTables, filing: Filing
) -> dict[str, Any]:
    """The fields common to gate and verdict records."""
    trace = trace or Trace(evidence)
    found = {
        "found": None if trace.found == evidence else _evidence(trace.found, tables),
        "counted": _evidence(evidence, tables),
        "when": plain(trace.when),
        "day": plain(trace.day),
        "earlier": plain(trace.earlier, tables),
    }
    decided = plain(gate, tables)
    passages = [laid_out(passage) for passage in tables[Passage].entries]
    thresholds = {
        signal.name: signal.threshold for signal in gate.signals if signal.threshold is not None
    }
    return {
        "question": evidence.question,
        "passages": [_without(passage, _TEXTS) for passage in passages],
        "texts": [[passage.get(name, "") for name in _TEXTS] for passage in passages],
        "evidence": found,
        "gate": decided,
        "claims": [laid_out(claim) for claim in tables[Claim].entries],
        "thresholds": {"certificate": filing.certificate, "signals": thresholds},
        "setup": filing.setup.id if filing.setup else "",
        "timings": plain(trace.timings),
    }


def _evidence(evidence: Evidence, tables: ValueTables) -> dict[str, Any]:
    return _without(laid_out(evidence, tables), ("question",))


def _without(tree: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in tree.items() if name not in names}


def _read_shelves(content: Mapping[str, Any]) -> ValueTables:
    pairs = zip(content["passages"], content["texts"], strict=True)
    passages = [
        rebuilt(Passage, {**known, **dict(zip(_TEXTS, texts, strict=True))})
        for known, texts in pairs
    ]
    tables = {
        Passage: ValueTable(passages),
        Claim: ValueTable([rebuilt(Claim, claim) for claim in content["claims"]]),
    }
    drafts = content.get("drafts", {}).get("all", ())
    return {**tables, Draft: ValueTable([rebuilt(Draft, draft, tables) for draft in drafts])}


def _read_evidence(content: Mapping[str, Any], tables: ValueTables) -> tuple[Evidence, Trace]:
    tree, question = content["evidence"], {"question": content["question"]}
    evidence = rebuilt(Evidence, {**tree["counted"], **question}, tables)
    found = tree["found"]
    trace = rebuilt(
        Trace,
        {**_without(tree, ("found", "counted")), "timings": content.get("timings", ())},
        tables,
        found=rebuilt(Evidence, {**found, **question}, tables) if found else evidence,
    )
    return evidence, trace


def _read_verdict(
    content: Mapping[str, Any], tables: ValueTables, evidence: Evidence, gate: GateDecision
) -> Verdict:
    drafts = content["drafts"]
    tree = {
        **content["outcome"],
        "question": content["question"],
        "released": content["released"],
        "findings": content["findings"],
        "draft": drafts["draft"],
        "attempts": drafts["attempts"],
    }
    return rebuilt(Verdict, tree, tables, evidence=evidence, gate=gate)
