"""Finds statements outside a draft's claims, which no check reads.

A heading, remark, question or refusal may accompany the claims if it adds no information. A number
found nowhere else counts as information, and so do several words found in no available text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from suffice.checks.aligned import roots
from suffice.checks.claim_text import statements
from suffice.switch import rule
from suffice.text.claims import LONGEST_CONTEXT, Statement, StatementKind
from suffice.text.nonclaims import nonclaim
from suffice.types import Draft, Evidence, Passage

_NEW_WORDS = 2
"""A line with this many words that occur in no available text adds information."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PLACE = re.compile(r"^\s*(?:[a-z]{1,8}\s)?\d{1,3}(?:\.\d{1,3})*\s*(?:[.):–-]|$)", re.IGNORECASE)
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


@rule("unread", lambda draft, evidence: ())
def unread(draft: Draft, evidence: Evidence) -> tuple[Statement, ...]:
    """The statements outside a draft's claims that add information."""
    read = statements(draft.text)
    claimed = _Claimed.of(draft)
    led = {one.context for one in read if one.checkable and one.context}
    outside = [
        one
        for one, below in zip_longest(read, read[1:])
        if not one.checkable and not _leads(one, below, led) and one not in claimed
    ]
    known = _Known.of(draft, evidence) if outside else None
    return tuple(one for one in outside if known and _tells(one, known, evidence.passages))


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


def _leads(statement: Statement, below: Statement | None, led: Collection[str]) -> bool:
    """Whether a statement is judged with the text below it, like a lead-in or a table header."""
    if statement.words[:LONGEST_CONTEXT] in led:
        return True
    rows = (statement.text, below.text if below else "")
    return all(row.lstrip().startswith("|") for row in rows)


def _tells(statement: Statement, known: _Known, passages: Sequence[Passage]) -> bool:
    if statement.kind is StatementKind.CODE:
        return not any(_plain(statement.text) in " ".join(p.text.split()) for p in passages)
    if statement.kind is StatementKind.META and nonclaim(statement.words) is None:
        return True  # a lead-in without a list
    numbers = known.named if statement.kind is StatementKind.HEADING else known.numbers
    if any(number not in numbers for number in _NUMBER.findall(_uncounted(statement))):
        return True
    if statement.kind is StatementKind.REFUSAL:
        return False  # a refusal names what it does not answer
    asks = statement.kind is StatementKind.QUESTION
    new = roots(_uncounted(statement)) - _OWN - (known.asked if asks else known.words)
    return len(new) >= _NEW_WORDS


def _uncounted(statement: Statement) -> str:
    """The words without item numbers and remarks on the answer's length."""
    return _LENGTH.sub(" ", _PLACE.sub(" ", statement.words))


def _plain(code: str) -> str:
    """The content of a code block on one line."""
    lines = code.strip().strip("`~").split("\n")
    inside = lines[1:] if len(lines) > 1 else lines
    return " ".join(" ".join(inside).split())
