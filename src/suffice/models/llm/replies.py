"""Parses the reply of the LLM strictly. Anything but the requested object raises a `ValueError`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_LINE = 200
_MOST_MISSING = 5
_LINK = re.compile(r"://|\bwww\.", re.IGNORECASE)
# Without structured output, servers return reasoning before the answer, and code fences.
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


class Verdict(StrEnum):
    """The possible judgements on a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_MENTIONED = "not_mentioned"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quote and the number of its passage, from 1; 0 means no passage."""

    passage: int
    quote: str


@dataclass(frozen=True, slots=True)
class Ruling:
    """The judgement on one claim, before its quotes are verified."""

    verdict: Verdict
    quotes: tuple[Quoted, ...] = ()


@dataclass(frozen=True, slots=True)
class Assessment:
    """The judgement on whether passages are enough, before its quotes are verified."""

    enough: bool
    quotes: tuple[Quoted, ...]
    missing: tuple[str, ...]


def read_rulings(reply: str, claims: int) -> tuple[Ruling, ...]:
    """The rulings on all claims, in order."""
    rows = _object(loaded(reply), "verdicts")["verdicts"]
    found: dict[int, Ruling] = {}
    for row in _list(rows):
        entry = _object(row, "claim", "quotes", "verdict")
        number, verdict = _number(entry["claim"]), entry["verdict"]
        if not 1 <= number <= claims:
            raise ValueError(f"it judges claim {number}, which is not in the request")
        if number in found:
            raise ValueError(f"it judges claim {number} twice")
        if not isinstance(verdict, str) or verdict not in set(Verdict):
            raise ValueError("a verdict is not one of the allowed values")
        found[number] = Ruling(Verdict(verdict), _quotes(entry))
    if len(found) < claims:
        raise ValueError(f"it judges {len(found)} of {claims} claims")
    return tuple(found[number] for number in range(1, claims + 1))


def read_assessment(reply: str) -> Assessment:
    entry = _object(loaded(reply), "quotes", "missing", "enough")
    if not isinstance(entry["enough"], bool):
        raise ValueError("'enough' is neither true nor false")
    missing = [_line(_text(line)) for line in _list(entry["missing"])]
    return Assessment(entry["enough"], _quotes(entry), tuple(line for line in missing if line))


def shown_missing(missing: tuple[str, ...]) -> tuple[str, ...]:
    """The missing parts for display in a refusal: a few lines without links."""
    return tuple(line for line in missing if not _LINK.search(line))[:_MOST_MISSING]


def loaded(reply: str) -> Any:
    """The JSON value of a reply."""
    text = _unfenced(_THOUGHT.sub("", reply, count=1).strip())
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError:
        raise ValueError("it is not JSON") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _unfenced(text: str) -> str:
    """The lines inside a code fence, or the text itself if it is not fenced."""
    language, _, rest = text.removeprefix("```").partition("\n")
    inner, newline, end = rest.rpartition("\n")
    fenced = text.startswith("```") and newline and end.strip() == "```"
    return inner if fenced and language.strip() in ("", "json") else text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Reject duplicate keys: parsers differ in which value they use."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _object(value: Any, *keys: str) -> dict[str, Any]:
    if not isinstance(value, dict) or value.keys() != set(keys):
        raise ValueError(f"an object with the keys {', '.join(keys)} is missing")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("a list is missing")
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("a value is not a number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a value is not text")
    return value


def _quotes(entry: dict[str, Any]) -> tuple[Quoted, ...]:
    rows = (_object(row, "passage", "quote") for row in _list(entry["quotes"]))
    return tuple(Quoted(_number(row["passage"]), _text(row["quote"])) for row in rows)


def _line(text: str) -> str:
    """The text as one line of printable characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"


def _schema(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_QUOTES = {
    "type": "array",
    "items": _schema(passage={"type": "integer"}, quote={"type": "string"}),
}
_RULING = _schema(
    claim={"type": "integer"},
    quotes=_QUOTES,
    verdict={"type": "string", "enum": [verdict.value for verdict in Verdict]},
)
SUPPORT_SCHEMA = _schema(verdicts={"type": "array", "items": _RULING})
SUFFICIENCY_SCHEMA = _schema(
    quotes=_QUOTES,
    missing={"type": "array", "items": {"type": "string"}},
    enough={"type": "boolean"},
)
