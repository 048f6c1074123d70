"""Converts verdicts and gate decisions to records and back.

Each passage, claim and draft is stored once and referenced by index. Passage texts are in a
separate field, so that they can be omitted.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import date
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar, Union

from suffice.errors import StoreError
from suffice.log.record import Entry, Record, new_id
from suffice.log.trace import Trace
from suffice.types import Claim, Draft, Evidence, GateDecision, Level, Passage, Source, Verdict
from suffice.verdict.decide import nearest

T = TypeVar("T")
_NONE = object()
_ATOMS = frozenset((str, int, float, bool, type(None)))


class ValueTable:
    """Distinct values of one type, in order of first use."""

    def __init__(self, entries: Sequence[Any] = ()) -> None:
        self.entries = list(entries)
        self._places = {entry: place for place, entry in enumerate(self.entries)}

    def place(self, entry: Any) -> int:
        found = self._places.setdefault(entry, len(self.entries))
        if found == len(self.entries):
            self.entries.append(entry)
        return found


ValueTables = Mapping[type, ValueTable]
_NO_TABLES: ValueTables = {}


def plain(value: object, tables: ValueTables = _NO_TABLES, *, whole: bool = False) -> Any:
    """The tree of a value. `whole` includes fields with default values, because defaults can change
    between versions."""
    kind: Any = type(value)
    if kind in _ATOMS:
        return value
    if kind in tables:
        return tables[kind].place(value)
    return _maker(kind)(value, tables, whole)


def laid_out(value: object, tables: ValueTables = _NO_TABLES, *, whole: bool = False) -> Any:
    """The tree of a dataclass instead of its index, even if its type has a table."""
    kind: Any = type(value)
    return _maker(kind)(value, tables, whole)


Maker = Callable[[Any, ValueTables, bool], Any]


@lru_cache(maxsize=512)
def _maker(kind: Any) -> Maker:
    """The function that converts values of one type to trees."""
    if is_dataclass(kind):
        return _maker_of(kind)
    if issubclass(kind, tuple | list):
        return lambda value, tables, whole: [
            item if type(item) in _ATOMS else plain(item, tables, whole=whole) for item in value
        ]
    if issubclass(kind, Enum):
        return lambda value, tables, whole: value._value_
    if issubclass(kind, date):
        return lambda value, tables, whole: value.isoformat()
    if issubclass(kind, frozenset):
        return lambda value, tables, whole: sorted(value)
    if issubclass(kind, Mapping):
        return lambda value, tables, whole: {
            key: plain(entry, tables, whole=whole) for key, entry in value.items()
        }
    return lambda value, tables, whole: value


def _maker_of(shape: Any) -> Maker:
    recorded = [field for field in fields(shape) if field.metadata.get("recorded", True)]
    names = tuple(field.name for field in recorded)
    defaults = tuple(map(_default, recorded))
    read: Callable[[Any], Any] = attrgetter(*names)
    read = read if len(names) > 1 else lambda value: (getattr(value, names[0]),)

    def made(value: Any, tables: ValueTables, whole: bool) -> dict[str, Any]:
        return {
            name: entry if type(entry) in _ATOMS else plain(entry, tables, whole=whole)
            for name, default, entry in zip(names, defaults, read(value), strict=True)
            if whole or (entry is not default and entry != default)
        }

    return made


def _default(field: Any) -> object:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else _NONE


def value_of(shape: type[T], raw: Any, tables: ValueTables = _NO_TABLES) -> T:
    """Convert a tree back to a value."""
    if shape in tables:
        shelved: T = tables[shape].entries[raw]
        return shelved
    hint: Any = shape
    read: T = _reader(hint)(raw, tables)
    return read


def rebuilt(shape: type[T], raw: Any, tables: ValueTables = _NO_TABLES, **given: Any) -> T:
    """Convert a tree to a dataclass, even if its type has a table. `given` holds fields passed as
    values."""
    hint: Any = shape
    made: T = _of_class(hint)(raw, tables, **given)
    return made


Reader = Callable[..., Any]


@lru_cache(maxsize=512)
def _reader(hint: Any) -> Reader:
    """The function that converts trees to values of one type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        (shape,) = [option for option in inner if option is not type(None)]
        return lambda raw, tables: None if raw is None else value_of(shape, raw, tables)
    if origin is tuple and inner[-1] is Ellipsis:
        return lambda raw, tables: tuple(value_of(inner[0], item, tables) for item in raw)
    if origin is tuple:
        return lambda raw, tables: tuple(
            value_of(shape, item, tables) for shape, item in zip(inner, raw, strict=True)
        )
    if origin is frozenset:
        return lambda raw, tables: frozenset(raw)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return lambda raw, tables: {k: value_of(inner[1], v, tables) for k, v in raw.items()}
    if isinstance(hint, type):
        return _of_class(hint)
    return lambda raw, tables: raw


@lru_cache(maxsize=256)
def _of_class(shape: Any) -> Reader:
    if is_dataclass(shape):
        hints, make = typing.get_type_hints(shape), typing.cast(Callable[..., Any], shape)
        return lambda raw, tables, **given: make(
            **{name: value_of(hints[name], entry, tables) for name, entry in raw.items()}, **given
        )
    if issubclass(shape, Enum):
        return lambda raw, tables: shape(raw)
    if shape is date:
        return lambda raw, tables: date.fromisoformat(raw)
    if shape is float:
        return lambda raw, tables: float(raw)
    return lambda raw, tables: raw


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
    evidence = rebuilt(Evidence, {**_with_problem(tree["counted"]), **question}, tables)
    found = tree["found"]
    trace = rebuilt(
        Trace,
        {**_without(tree, ("found", "counted")), "timings": content.get("timings", ())},
        tables,
        found=rebuilt(Evidence, {**_with_problem(found), **question}, tables)
        if found
        else evidence,
    )
    return evidence, trace


_KEYWORDS_ONLY = "Searched by keywords only: "
"""How older records say that the embedder failed: in a note alone, with its message."""


def _with_problem(evidence: Mapping[str, Any]) -> Mapping[str, Any]:
    """The recorded evidence with the embedder's problem as data, so that it can be removed for
    readers who may not see messages of servers."""
    if "without_vectors" in evidence:
        return evidence
    notes = (note for note in evidence.get("notes", ()) if note.startswith(_KEYWORDS_ONLY))
    problem = next(notes, "").removeprefix(_KEYWORDS_ONLY)
    return {**evidence, "without_vectors": problem} if problem else evidence


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


QUEUE = "queue"


def about(
    of: Record | Entry,
    kind: str,
    fields: Mapping[str, object],
    *,
    by: str = "",
    role: str = "",
) -> Record:
    """A record about another record, made by `by`. `role` defaults to the kind. Its tag
    is the subject of the other record, so both are erased together."""
    name = f"{of.id}.{role or kind}.{new_id()}"
    return Record(kind, {"record": of.id, **fields}, by, of.tag or of.caller, name)


def subject_of(id: str) -> str:
    """The id of the record that a record is about, or its own id if it is not about another."""
    return id.partition(".")[0]


def role_of(id: str) -> str:
    """The role of a record that is about another record, for example "queue"."""
    return f"{id}..".split(".")[1]


def record_missing(name: str) -> StoreError:
    return StoreError(
        f"There is no record '{name}' in the log.",
        remedy="To list records, run: suffice audit show",
    )
