"""Replays a recorded decision: gate and checks run on the stored inputs with the recorded settings.

Search and drafting are not repeated; retrieved passages and drafts come from the record. An LLM
judge is not called again; its recorded findings are used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from suffice.checks.check import Check
from suffice.checks.findings import judged
from suffice.checks.registry import open_checks
from suffice.checks.sources import Documents
from suffice.evidence.index import Filter
from suffice.evidence.search import StoredDocuments
from suffice.evidence.store import Store
from suffice.gate.gate import Gate, GateResult
from suffice.gate.policies.coverage import Coverage
from suffice.log.decision import UNGATED, Decision, decision_of, plain
from suffice.log.log import Log
from suffice.log.record import Entry, Record
from suffice.log.setup import PIPELINE, Setup, setup_of, versions
from suffice.log.stored import RecordFilter, page
from suffice.log.verify import Verified
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.verifier import CachedEmbedder, Verifier
from suffice.sql.database import Database
from suffice.types import Draft, Evidence, Finding, GateDecision, Verdict
from suffice.verdict.decide import decide, disagree, refused_by_gate
from suffice.verdict.route import read_routes

_NEAR = 1e-6
_JUDGE = "judge"
_NUMBERS = ("confidence", "faithfulness", "fact_score", "share_read", "grade", "route")


@dataclass(frozen=True, slots=True)
class Difference:
    """A field whose replayed value differs from the recorded one."""

    field: str
    was: Any
    now: Any


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay; `notes` say what was not repeated and what may affect the result."""

    id: str
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        return not self.differences


@dataclass(frozen=True, slots=True)
class Replay:
    """Replays decisions that were made with one setup."""

    setup: Setup
    embedder: Embedder
    verifier: Verifier
    documents: Documents | None = None

    @classmethod
    def of(cls, setup: Setup, documents: Documents | None = None) -> Replay:
        embedder = CachedEmbedder(open_embedder(setup.embedder))
        verifier = open_verifier(
            setup.verifier, setup.options.get("tier", ""), setup.settings.draft
        )
        return cls(setup, embedder, verifier, documents)

    def __call__(self, entry: Entry) -> Replayed:
        decision = decision_of(entry)
        found = [*differences("models", self.setup.models, self._models())]
        notes = list(_notes(entry))
        gated = self.setup.door == PIPELINE and decision.gate.policy != UNGATED
        if gated:
            applied = self._gate(decision)
            found += differences("gate", _compared(decision.gate), _compared(applied.decision))
            found += differences(
                "evidence", _counted(decision.evidence), _counted(applied.evidence)
            )
        if decision.verdict is not None:
            again = self._verdict(decision, decision.verdict)
            if again is None:
                notes.append("No draft was recorded, so only the gate was replayed.")
            else:
                found += _changes(decision.verdict, again, gated=gated)
        return Replayed(entry.id, tuple(found), tuple(notes))

    def again(self, decision: Decision) -> Verdict | None:
        """The verdict that these models reach on the recorded draft; `None` if there is none."""
        return self._verdict(decision, decision.verdict) if decision.verdict else None

    def _models(self) -> dict[str, str]:
        now = {"embedder": self.embedder.id, "verifier": self.verifier.id}
        return {name: now.get(name, "") for name in self.setup.models}

    def _gate(self, decision: Decision) -> GateResult:
        trace = decision.trace
        gate = Gate.of(self.setup.settings, self.embedder, self.verifier)
        if isinstance(gate.policy, Coverage):  # its recency limit depends on the day
            gate.policy = replace(gate.policy, day=trace.day)
        return gate.apply(trace.found, trace.when, trace.day)

    def _verdict(self, decision: Decision, was: Verdict) -> Verdict | None:
        """The current verdict on the recorded draft; `None` if there is no draft and the gate was
        open."""
        draft = was.draft or (was.attempts[-1].draft if was.attempts else None)
        routes = read_routes(self.setup.settings.verdict.routes)
        if draft is not None:
            findings = self._findings(decision, was, draft)
            return decide(was.evidence, was.gate, draft, findings, routes)
        opposed = [conflict for conflict in was.gate.conflicts if not conflict.ambiguous]
        if opposed:
            return disagree(was.evidence, was.gate)
        return None if was.gate.open else refused_by_gate(was.evidence, was.gate)

    def _findings(self, decision: Decision, was: Verdict, draft: Draft) -> tuple[Finding, ...]:
        evidence, trace = was.evidence, decision.trace
        if was.rescue is None or was.rescue == "revised":
            evidence = replace(evidence, items=(*evidence.items, *trace.earlier))
        checks = open_checks(
            self.setup.settings.checks,
            self.verifier,
            self.embedder,
            self.documents,
            _judged(was.findings),
            day=trace.day,
            uncited=self.setup.options.get("uncited") == "True",
        )
        return judged(checks, draft, evidence)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A check that returns its recorded findings."""

    findings: tuple[Finding, ...]
    name: str = _JUDGE

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        return [finding for finding in self.findings if finding.claim in draft.claims]


def _judged(findings: Sequence[Finding]) -> Check:
    return _Recorded(tuple(finding for finding in findings if finding.check == _JUDGE))


def _compared(gate: GateDecision) -> Any:
    """The tree of a gate decision without passages that were left out partly: a masked name can
    change which words seem to instruct. What follows from it, the score, is compared."""
    whole = tuple(one for one in gate.excluded if not one.partly)
    return plain(replace(gate, excluded=whole))


def _counted(evidence: Evidence) -> list[str]:
    return [passage.id for passage in evidence.passages]


def _changes(was: Verdict, now: Verdict, *, gated: bool) -> Iterator[Difference]:
    yield from differences("findings", plain(was.findings), plain(now.findings))
    for name in _NUMBERS:
        yield from differences(name, plain(getattr(was, name)), plain(getattr(now, name)))
    # Rescued answers carry their own caveat, and `check` treats answers without claims separately.
    if was.rescue is None and (gated or (was.draft and was.draft.claims)):
        yield from differences("action", was.action.value, now.action.value)
        yield from differences("released", was.released, now.released)


def differences(path: str, was: Any, now: Any) -> Iterator[Difference]:
    """The differences between two trees; numbers within 1e-6 count as equal."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for name in sorted({*was, *now}):
            yield from differences(f"{path}.{name}", was.get(name), now.get(name))
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for place, (one, other) in enumerate(zip(was, now, strict=True)):
            yield from differences(f"{path}[{place}]", one, other)
    elif isinstance(was, float | int) and isinstance(now, float | int):
        if not math.isclose(was, now, abs_tol=_NEAR) and not (was != was and now != now):
            yield Difference(path, was, now)
    elif was != now:
        yield Difference(path, was, now)


def _notes(entry: Entry) -> Iterator[str]:
    if masked := entry.fields().get("masked"):
        counts = ", ".join(f"{count} × {what}" for what, count in masked.items())
        yield f"The record contains masked text ({counts}), which may change the results."


def stored_documents(database: Database, decision: Decision) -> StoredDocuments:
    """The stored documents that a replay may read: those that the caller could read, which are at
    least those with the collection and labels of the evidence."""
    earlier = tuple(item.passage for item in decision.trace.earlier)
    passages = decision.trace.found.passages + decision.evidence.passages + earlier
    labels = frozenset(label for passage in passages for label in passage.access)
    collection = passages[0].collection if passages else "default"
    return StoredDocuments(Store(database), Filter(collection=collection, labels=labels))


def replay(
    entry: Entry,
    setup: Entry,
    documents: Documents | None = None,
    models: tuple[Embedder, Verifier] | None = None,
) -> Replayed:
    """Replay a recorded decision; `setup` is the setup record it refers to. `models` are open
    models to use instead of those in the setup; if they differ, the result says so."""
    known, packages = setup_of(setup)
    made = Replay(known, *models, documents) if models else Replay.of(known, documents)
    done = made(entry)
    changed = [
        f"{name} was {version}, is {versions().get(name, 'not installed')}"
        for name, version in packages.items()
        if versions().get(name) != version
    ]
    judged = known.settings.checks.judge
    more = (
        ("The LLM judge was not called again; its recorded findings were used.",) if judged else ()
    )
    if known.verifier.llm.on and known.options.get("tier", "") in ("", "llm"):
        more = (*more, "The LLM verifier was called again; its results may differ.")
    noted = (f"Package versions differ: {'; '.join(changed)}.",) if changed else ()
    return replace(done, notes=(*done.notes, *more, *noted))


VERIFICATION = "verification"
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Verification:
    """A recorded verification of the records up to `last`. `faults` counts them."""

    time: str
    by: str
    last: int
    faults: int
    seconds: float

    @property
    def whole(self) -> bool:
        return not self.faults


def record_verification(log: Log, found: Verified, by: str = "") -> str:
    """Write the result of a verification to the log; return the id of its record."""
    fields = {
        "records": found.records,
        "last": found.last,
        "link": found.link,
        "checkpoints": found.checkpoints,
        "faults": found.count,
        "first_faults": [fault.message for fault in found.faults[:_SHOWN]],
        "seconds": round(found.seconds, 3),
    }
    record = Record(VERIFICATION, fields, caller=by)
    log.append(record)
    return record.id


def last_verification(log: Log) -> Verification | None:
    """The newest recorded verification; `None` if no readable one exists."""
    with log.database.reading() as connection:
        found = page(connection, RecordFilter(kind=VERIFICATION), 1)
    if not found:
        return None
    fields: Mapping[str, Any] = found[0].fields()
    if "faults" not in fields or "last" not in fields:  # erased
        return None
    seconds = float(fields.get("seconds", 0.0))
    return Verification(found[0].time, found[0].caller, fields["last"], fields["faults"], seconds)
