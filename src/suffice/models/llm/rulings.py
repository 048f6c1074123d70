"""The judgements of the llm tier: what a reply must hold, and whether its quotes occur in the
passages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from suffice.models.llm.replies import read_reply
from suffice.models.verifier import Pair
from suffice.text.claims import only_declines
from suffice.text.instructions import steers
from suffice.text.one_line import printable_line

_LINE = 200
_MOST_MISSING = 5
_LINK = re.compile(r"://|\bwww\.", re.IGNORECASE)


class Judgement(StrEnum):
    """The possible judgements on a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_MENTIONED = "not_mentioned"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote and the number of its passage, from 1; 0 means no passage."""

    passage: int
    quote: str


@dataclass(frozen=True, slots=True)
class ClaimReply:
    """The judgement on one claim, before its quotes are verified."""

    claim: int
    quotes: tuple[Quote, ...]
    verdict: Judgement


@dataclass(frozen=True, slots=True)
class SupportReply:
    """The reply to a prompt about claims."""

    verdicts: tuple[ClaimReply, ...]


@dataclass(frozen=True, slots=True)
class SufficiencyReply:
    """The judgement on whether passages are enough, before its quotes are verified."""

    quotes: tuple[Quote, ...]
    missing: tuple[str, ...]
    enough: bool


def read_support(reply: str, claims: int) -> tuple[ClaimReply, ...]:
    """The judgements on all claims, in order."""
    by_claim: dict[int, ClaimReply] = {}
    for entry in read_reply(reply, SupportReply).verdicts:
        if not 1 <= entry.claim <= claims:
            raise ValueError(f"it judges claim {entry.claim}, which is not in the request")
        if entry.claim in by_claim:
            raise ValueError(f"it judges claim {entry.claim} twice")
        by_claim[entry.claim] = entry
    if len(by_claim) < claims:
        raise ValueError(f"it judges {len(by_claim)} of {claims} claims")
    return tuple(by_claim[number] for number in range(1, claims + 1))


def read_sufficiency(reply: str) -> SufficiencyReply:
    """The judgement on whether passages are enough, with readable lines for what is missing."""
    entry = read_reply(reply, SufficiencyReply)
    lines = (printable_line(line, _LINE) for line in entry.missing)
    return SufficiencyReply(entry.quotes, tuple(filter(None, lines)), entry.enough)


def shown_missing(missing: tuple[str, ...]) -> tuple[str, ...]:
    """The missing parts for display in a refusal: a few lines without links."""
    return tuple(line for line in missing if not _LINK.search(line))[:_MOST_MISSING]


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
class SupportRuling:
    """A valid judgement on a claim, never `unsure`. `passage` is an index into the evidence, of the
    first passage that is quoted; `None` for what the passages do not say."""

    judgement: Judgement
    passage: int | None = None
    quote: str = ""


@dataclass(frozen=True, slots=True)
class SufficiencyRuling:
    """A valid judgement on whether passages are enough."""

    enough: bool
    passage: int | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoRuling:
    """The reason why a reply holds no valid judgement."""

    why: str


def support_ruling(
    reply: ClaimReply, pair: Pair, places: Mapping[int, int]
) -> SupportRuling | NoRuling:
    """Verify the judgement on a claim. `places` maps passage numbers to positions in the
    evidence."""
    if reply.verdict is Judgement.UNSURE:
        return NoRuling("it is not sure either")
    if reply.verdict is Judgement.NOT_MENTIONED:
        return SupportRuling(reply.verdict)
    supported = reply.verdict is Judgement.SUPPORTED
    if supported and not reply.quotes and only_declines(pair.text) and not steers(pair.text):
        # Nothing can be quoted for what the passages do not say.
        return SupportRuling(reply.verdict)
    cited = [
        place_of(quote.quote, pair.evidence, places.get(quote.passage)) for quote in reply.quotes
    ]
    proved = [place for place in cited if place is not None]
    if not proved or len(proved) < len(cited):
        return NoRuling(_UNPROVED)
    if supported and (who := next(filter(None, (_steered(pair, place) for place in proved)), "")):
        return NoRuling(f"{who} tries to influence the verdict")
    return SupportRuling(reply.verdict, proved[0], reply.quotes[0].quote)


def sufficiency_ruling(reply: SufficiencyReply, pair: Pair) -> SufficiencyRuling | NoRuling:
    """Verify the judgement on whether passages are enough."""
    if not reply.enough:
        return SufficiencyRuling(False, missing=shown_missing(reply.missing))
    if reply.missing:
        return NoRuling(
            "it reports both that the passages are enough and that something is missing"
        )
    cited = (place_of(quote.quote, pair.evidence, quote.passage - 1) for quote in reply.quotes)
    places = [place for place in cited if place is not None]
    if not places:
        return NoRuling(_UNPROVED)
    steered = [_steered(pair, place) for place in places]
    if all(steered):
        return NoRuling(f"{steered[0]} tries to influence the verdict")
    return SufficiencyRuling(True, places[steered.index("")])


def _steered(pair: Pair, place: int) -> str:
    """Which text tries to influence the judge; empty if none does."""
    texts = {
        "what is judged": pair.text,
        "the question": pair.question,
        "the passage it quotes": pair.evidence[place],
    }
    return next((name for name, text in texts.items() if steers(text)), "")
