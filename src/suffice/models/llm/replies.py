"""Parses the reply of the LLM strictly. Anything but the requested object raises a `ValueError`."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from suffice.models.verifier import Pair
from suffice.text.claims import only_declines
from suffice.text.instructions import steers
from suffice.text.one_line import printable_line

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
    missing = [printable_line(_text(line), _LINE) for line in _list(entry["missing"])]
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


_WORDS = 3
_LETTERS = 12
"""A quote needs this many words or this many letters, because some scripts have no spaces."""
_LONGEST = 4_000
_SHAPES = str.maketrans(dict.fromkeys('"“”„‟«»‘’‚‛‹›`´′″', "'") | dict.fromkeys("‐‑‒–—―−", "-"))
_ELIDED = re.compile(r" ?[\[(]?\.{3,}[\])]? ?")
_EMPHASIS = re.compile(r"(?<!\w)[*`]|[*`](?!\w)")
_DOTS = re.compile(r"\.{3}|…")
_ITEM = re.compile(r"\d{1,3}[.)]")
_UNSPACED = "\u2e80"
"""The first character of scripts without spaces between words."""


@lru_cache(maxsize=512)  # so that a passage is normalised once for all claims of an answer
def folded(text: str) -> str:
    """The text normalised for comparing quotes."""
    seen = "".join(char for char in text if unicodedata.category(char) != "Cf")
    plain = unicodedata.normalize("NFKC", seen).casefold().translate(_SHAPES)
    return " ".join(plain.split())


@lru_cache(maxsize=512)
def unmarked(text: str, *, counted: bool) -> str:
    """The text without the marks of lists, tables, headings, code and emphasis, as a reader quotes
    it; the numbers of list items stay if `counted`."""
    lines = (line.replace("|", " ").split() for line in text.split("\n"))
    kept = (
        line if counted or not line or not _ITEM.fullmatch(line[0]) else line[1:] for line in lines
    )
    words = (_EMPHASIS.sub("", word) for line in kept for word in line)
    return " ".join(word for word in words if any(map(str.isalnum, word)) or _DOTS.search(word))


def place_of(quote: str, passages: Sequence[str], named: int | None = None) -> int | None:
    """The passage that contains the quote: the passage it names, or else the first that does.
    `None` if no passage contains it or it is too short."""
    order = [n for n in (named,) if n is not None and 0 <= n < len(passages)]
    order += (n for n in range(len(passages)) if n != named)
    return next((n for n in order if occurs_in(quote, passages[n])), None)


def occurs_in(quote: str, passage: str) -> bool:
    """Whether a quote occurs in a passage. Parts separated by "..." must occur in order."""
    if len(quote) > _LONGEST:
        return False
    if _occurs(quote, passage):
        return True
    return any(
        _occurs(unmarked(quote, counted=counted), unmarked(passage, counted=counted))
        for counted in (True, False)
    )


def _occurs(quote: str, passage: str) -> bool:
    words, text = folded(quote).strip("' "), folded(passage)
    return _in_order([words], text) or _in_order(_ELIDED.split(words), text)


def _in_order(parts: Iterable[str], text: str) -> bool:
    """Whether every part is long enough and follows the previous part."""
    start = 0
    found = False
    for part in (part for part in parts if part):
        match = _pattern(part).search(text, start) if _long_enough(part) else None
        if match is None:
            return False
        start, found = match.end(), True
    return found


def _long_enough(part: str) -> bool:
    letters = sum(char.isalnum() for char in part)
    return letters >= _LETTERS or len(re.findall(r"\w+", part)) >= _WORDS


def _pattern(part: str) -> re.Pattern[str]:
    before = r"(?<!\w)(?<!\d[.,])" if _parted(part[0]) else ""
    after = r"(?!\w)(?![.,]\d)" if _parted(part[-1]) else ""
    return re.compile(f"{before}{re.escape(part)}{after}")


def _parted(char: str) -> bool:
    return char.isalnum() and char < _UNSPACED


_UNPROVED = "its quote is not in the passages"


@dataclass(frozen=True, slots=True)
class Word:
    """A valid judgement on a claim, never `unsure`. `passage` is an index into the evidence, of the
    first passage that is quoted; `None` for what the passages do not say."""

    verdict: Verdict
    passage: int | None = None
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Enough:
    """A valid judgement on whether passages are enough."""

    enough: bool
    passage: int | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoWord:
    """The reason why a reply holds no valid judgement."""

    why: str


def support_word(ruling: Ruling, pair: Pair, places: Mapping[int, int]) -> Word | NoWord:
    """Verify a ruling. `places` maps passage numbers to positions in the evidence."""
    if ruling.verdict is Verdict.UNSURE:
        return NoWord("it is not sure either")
    if ruling.verdict is Verdict.NOT_MENTIONED:
        return Word(ruling.verdict)
    supported = ruling.verdict is Verdict.SUPPORTED
    if supported and not ruling.quotes and only_declines(pair.text) and not steers(pair.text):
        return Word(ruling.verdict)  # nothing can be quoted for what the passages do not say
    found = [place_of(one.quote, pair.evidence, places.get(one.passage)) for one in ruling.quotes]
    proved = [place for place in found if place is not None]
    if not proved or len(proved) < len(found):
        return NoWord(_UNPROVED)
    if supported and (who := next(filter(None, (_steered(pair, one) for one in proved)), "")):
        return NoWord(f"{who} tries to influence the verdict")
    return Word(ruling.verdict, proved[0], ruling.quotes[0].quote)


def enough_word(assessment: Assessment, pair: Pair) -> Enough | NoWord:
    """Verify an assessment."""
    if not assessment.enough:
        return Enough(False, missing=shown_missing(assessment.missing))
    if assessment.missing:
        return NoWord("it reports both that the passages are enough and that something is missing")
    found = (place_of(one.quote, pair.evidence, one.passage - 1) for one in assessment.quotes)
    places = [place for place in found if place is not None]
    if not places:
        return NoWord(_UNPROVED)
    steered = [_steered(pair, place) for place in places]
    if all(steered):
        return NoWord(f"{steered[0]} tries to influence the verdict")
    return Enough(True, places[steered.index("")])


def _steered(pair: Pair, place: int) -> str:
    """Which text tries to influence the judge; empty if none does."""
    texts = {
        "what is judged": pair.text,
        "the question": pair.question,
        "the passage it quotes": pair.evidence[place],
    }
    return next((name for name, text in texts.items() if steers(text)), "")
