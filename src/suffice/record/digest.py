"""The digest of a decision: what the index of decisions stores about its record."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.log.entry import Entry
from suffice.log.payload import values
from suffice.record.decision import GATE
from suffice.sql.storable import replace_unstorable

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
    """The digest of a verdict or gate record. Fields that are not stored are left empty. The log
    stores any text in escaped form; here, what a database cannot store is replaced."""
    found: dict[str, Any] = values(entry.payload, _FIELDS)
    gate, outcome = found.get("gate") or {}, found.get("outcome") or {}
    passages: Sequence[Mapping[str, Any]] | None = found.get("passages")
    timings = ((_text(stage), _finite(spent)) for stage, spent in found.get("timings") or ())
    return Digest(
        entry.sequence,
        entry.id,
        entry.time,
        ONLY_GATE if entry.kind == GATE else _text(outcome.get("action")),
        _text(gate.get("level")),
        entry.caller,
        scope_of(passages),
        _text(found.get("question")),
        _text(found.get("released")),
        _finite(outcome.get("confidence")),
        tuple((stage, spent) for stage, spent in timings if spent is not None),
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
        version, access = _text(one.get("version")), tuple(sorted(one.get("access", ())))
        key = (_text(_collection(one)), _text(one.get("document")), version, access)
        seen[key] = seen.get(key, False) or place in cited
    for key, named in seen.items():
        yield Used(*key, named)


def _collection(passage: Mapping[str, Any]) -> str:
    return str(passage.get("collection", _DEFAULT))


def _text(value: object) -> str:
    return "" if value is None else replace_unstorable(str(value))


def _finite(value: Any) -> float | None:
    """The number, or `None` if there is none: the log stores a float that is not finite as text."""
    number = None if value is None else float(value)
    return number if number is not None and math.isfinite(number) else None


def _number(*parts: str) -> int:
    """A digest as a positive number of 63 bits, the same in every process."""
    hashed = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(hashed[:8], "big") >> 1
