"""The digest of a decision: what the index of decisions stores about its record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.log.entry import Entry
from suffice.log.payload import values
from suffice.record.decision import GATE

ONLY_GATE = "GATE"
"""The action of a gate decision without a verdict."""
UNKNOWN = 0
"""The id of the scope of decisions whose passages are not stored."""
_FIELDS = ("question", "passages", "evidence", "gate", "released", "outcome", "timings")
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Used:
    """A document version that a decision counted as evidence, and whether the answer cites it."""

    collection: str
    document: str
    version: str
    access: tuple[str, ...]
    cited: bool = False

    @property
    def access_text(self) -> str:
        return json.dumps(self.access)

    @property
    def id(self) -> int:
        return _number(self.collection, self.document, self.version, self.access_text)


@dataclass(frozen=True, slots=True)
class Digest:
    """A summary of a decision. `scope` holds the collections and labels of its passages as JSON, or
    `null` if they are not stored; `timings` are the seconds of each stage."""

    sequence: int
    id: str
    time: str
    action: str
    level: str
    caller: str
    scope: str
    question: str = ""
    released: str = ""
    confidence: float | None = None
    timings: tuple[tuple[str, float], ...] = ()
    uses: tuple[Used, ...] = ()

    @property
    def seconds(self) -> float | None:
        return dict(self.timings).get("total")

    @property
    def scope_id(self) -> int:
        return scope_id(self.scope)


def digest(entry: Entry) -> Digest:
    """The digest of a verdict or gate record. Fields that are not stored are left empty."""
    found: dict[str, Any] = values(entry.payload, _FIELDS)
    gate, outcome = found.get("gate") or {}, found.get("outcome") or {}
    passages: Sequence[Mapping[str, Any]] | None = found.get("passages")
    timings = tuple((str(stage), float(spent)) for stage, spent in found.get("timings") or ())
    return Digest(
        entry.sequence,
        entry.id,
        entry.time,
        ONLY_GATE if entry.kind == GATE else str(outcome.get("action", "")),
        str(gate.get("level", "")),
        entry.caller,
        scope_of(passages),
        str(found.get("question") or ""),
        str(found.get("released") or ""),
        outcome.get("confidence"),
        timings,
        tuple(_uses(passages or (), found.get("evidence") or {}, outcome)),
    )


def scope_of(passages: Sequence[Mapping[str, Any]] | None) -> str:
    """The collections and labels of passages, each pair once, as JSON."""
    if passages is None:
        return "null"
    pairs = {(_collection(one), tuple(sorted(one.get("access", ())))) for one in passages}
    return json.dumps(sorted(pairs))


def scope_id(scope: str) -> int:
    return UNKNOWN if scope == "null" else _number(scope)


def _uses(
    passages: Sequence[Mapping[str, Any]], evidence: Mapping[str, Any], outcome: Mapping[str, Any]
) -> Iterator[Used]:
    """The document versions used, without duplicates and without passages that the caller
    supplied."""
    cited = {one.get("passage") for one in outcome.get("citations", ())}
    counted = [one.get("passage") for one in (evidence.get("counted") or {}).get("items", ())]
    seen: dict[tuple[str, str, str, tuple[str, ...]], bool] = {}
    for place in dict.fromkeys([*counted, *cited]):
        if not isinstance(place, int) or not 0 <= place < len(passages):
            continue
        one = passages[place]
        if one.get("carried"):
            continue
        version, access = str(one.get("version", "")), tuple(sorted(one.get("access", ())))
        key = (_collection(one), str(one.get("document", "")), version, access)
        seen[key] = seen.get(key, False) or place in cited
    for key, named in seen.items():
        yield Used(*key, named)


def _collection(passage: Mapping[str, Any]) -> str:
    return str(passage.get("collection", _DEFAULT))


def _number(*parts: str) -> int:
    """A digest as a positive number of 63 bits, the same in every process."""
    hashed = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(hashed[:8], "big") >> 1
