"""Finds statements outside a draft's claims, which no check reads.

A heading, remark, question or refusal may accompany the claims if it adds no information. A number
found nowhere else counts as information, and so do several words found in no available text. A
number that counts steps or items does not, as long as it continues their sequence.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from suffice.checks.entailment import roots
from suffice.text.claims import Statement, StatementKind, claims, nonclaim
from suffice.types import Draft, Evidence, Passage

_JOINED = re.compile(r"\w\w|\d[.,]|[.,]\d")
_NEW_WORDS = 2
"""A line with this many words that occur in no available text adds information."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PLACE = re.compile(r"^\s*([a-z]{1,8}\s)?(\d{1,3}(?:\.\d{1,3})*)\s*(?:[.):–-]|$)", re.IGNORECASE)
_ITEM = re.compile(r"(?:[-*+•>#]+\s+)*(\d{1,3})[.)]\s")
# "a summary in 80 words" is about the answer itself.
_LENGTH = re.compile(
    r"\b\d+(?:\s?[-–]\s?\d+)?[\s-](?:words?|sentences?|bullets?|points?|steps?)\b", re.IGNORECASE
)
# Words with which an answer refers to itself or its reader.
_OWN = roots(
    """answer question summary summarize overview response information list explanation explain
    detail passage document context source evidence article news text excerpt material reference
    citation provide provided given available retrieved structured data json format based according
    following follow here below above hope help helpful clarify know feel free ask need want would
    like further additional anything else assist assistance happy glad contact reach hesitate please
    sure welcome thank thanks great good brief objective short clear step point key main note
    conclusion introduction background important useful understand learn specific topic certainly
    hello dear regards sincerely sorry unfortunately word quote complete concise example"""
)


@dataclass(frozen=True, slots=True)
class _Known:
    """The words and numbers in the question, passages and claims."""

    words: frozenset[str]
    asked: frozenset[str]
    numbers: frozenset[str]
    named: frozenset[str]
    """The numbers allowed in headings, which include those of the passages."""

    @classmethod
    def of(cls, draft: Draft, evidence: Evidence) -> _Known:
        asked = roots(evidence.question)
        named = [part for one in evidence.passages for part in (one.title, *one.heading)]
        texts = (*named, *(one.text for one in evidence.passages), *(c.text for c in draft.claims))
        numbers = frozenset(_NUMBER.findall(" ".join((evidence.question, *named))))
        there = (_NUMBER.findall(one.text) for one in evidence.passages)
        return cls(asked.union(*map(roots, texts)), asked, numbers, numbers.union(*there))


def unread(draft: Draft, evidence: Evidence) -> tuple[Statement, ...]:
    """The statements outside a draft's claims that add information."""
    read = claims(draft.text)
    claimed = _Claimed.of(draft)
    led = {one.context for one in read if one.checkable and one.context}
    counts = _Counts.of(read)
    outside = [
        one
        for place, one in enumerate(read)
        if one.start in counts.items
        or (not one.checkable and not _leads(read, place, led) and one not in claimed)
    ]
    known = _Known.of(draft, evidence) if outside else None
    found = (one for one in outside if known and _tells(one, known, counts, evidence.passages))
    return tuple(_number(one, counts) if one.checkable else one for one in found)


def _number(claim: Statement, counts: _Counts) -> Statement:
    """The number before a claim, which is all of it that no check reads."""
    number = counts.items[claim.start]
    return replace(claim, text=number, words=number)


@dataclass(frozen=True, slots=True)
class _Counts:
    """The numbers before statements that do not continue a sequence, by the start of the statement:
    those of list items, which no check reads, and those of headings ("Step 7")."""

    items: Mapping[int, str]
    places: Mapping[int, str]

    @classmethod
    def of(cls, read: Sequence[Statement]) -> _Counts:
        return cls(
            _astray((one.start, "", item[1]) for one in read if (item := _ITEM.match(one.text))),
            _astray(
                (one.start, place[1] or "", place[2])
                for one in read
                if (place := _PLACE.match(one.words))
            ),
        )


def _astray(counted: Iterable[tuple[int, str, str]]) -> Mapping[int, str]:
    """The numbers, by place, that neither begin a sequence nor follow the number before them."""
    seen: set[tuple[str, int]] = set()
    found: dict[int, str] = {}
    for start, word, number in counted:
        above, _, last = number.rpartition(".")
        series = f"{word.strip().lower()} {above}"
        if int(last) > 1 and (series, int(last) - 1) not in seen:
            found[start] = number
        seen.add((series, int(last)))
    return found


@dataclass(frozen=True, slots=True)
class _Claimed:
    """The spans of the claims, in order. A claim may look like a heading."""

    starts: list[int]
    ends: list[int]

    @classmethod
    def of(cls, draft: Draft) -> _Claimed:
        spans = sorted((claim.start, claim.end) for claim in draft.claims)
        return cls([start for start, _ in spans], [end for _, end in spans])

    def __contains__(self, statement: Statement) -> bool:
        place = bisect_right(self.starts, statement.start) - 1
        return place >= 0 and statement.end <= self.ends[place]


def _leads(read: Sequence[Statement], place: int, led: Collection[str]) -> bool:
    """Whether a statement is judged with the text below it, like a lead-in or the header of a
    table. Rows are judged with the names of those columns for which they have a cell."""
    statement = read[place]
    if statement.words in led:
        return True
    if not statement.text.lstrip().startswith("|"):
        return False
    rows = [*takewhile(lambda one: one.text.lstrip().startswith("|"), read[place + 1 :])]
    names = [name for name in statement.words.split("; ") if name]
    return bool(rows) and all(any(f"{name}: " in row.words for row in rows) for name in names)


def _tells(
    statement: Statement, known: _Known, counts: _Counts, passages: Sequence[Passage]
) -> bool:
    if statement.kind is StatementKind.CODE:
        return not any(_quotes(_plain(statement.text), passage) for passage in passages)
    if counts.items.get(statement.start, "") not in ("", *known.named):
        return True
    if statement.checkable:
        return False
    if statement.kind is StatementKind.META and nonclaim(statement.words) is None:
        return True  # a lead-in without a list
    words = _uncounted(statement, counts)
    numbers = known.named if statement.kind is StatementKind.HEADING else known.numbers
    if any(number not in numbers for number in _NUMBER.findall(words)):
        return True
    if statement.kind is StatementKind.REFUSAL:
        return False  # a refusal names what it does not answer
    asks = statement.kind is StatementKind.QUESTION
    new = roots(words) - _OWN - (known.asked if asks else known.words)
    return len(new) >= _NEW_WORDS


def _uncounted(statement: Statement, counts: _Counts) -> str:
    """The words without the number of a step, and in a remark without the length of the answer."""
    words = statement.words
    if statement.start not in counts.places:
        words = _PLACE.sub(r"\1 ", words)
    return _LENGTH.sub(" ", words) if statement.kind is StatementKind.META else words


def _plain(code: str) -> str:
    """The content of a code block on one line."""
    lines = code.strip().strip("`~").split("\n")
    inside = lines[1:] if len(lines) > 1 else lines
    return " ".join(" ".join(inside).split())


def _quotes(code: str, passage: Passage) -> bool:
    """Whether a passage contains the code, with nothing joined to its ends: "7 days" is not in
    "17 days"."""
    text, place = " ".join(passage.text.split()), -1
    while (place := text.find(code, place + 1)) >= 0 and code:
        around = text[place - 1 : place] + code[0], code[-1] + text[place + len(code) :][:1]
        if not any(_JOINED.fullmatch(pair) for pair in around):
            return True
    return not code
