"""Splits a passage into statements, each with the context it needs to be quoted on its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from suffice.text.sentences import ANSWER_MARK, ITEM_MARK, Span, sentences

# A sentence that refers to the sentence before it is quoted together with it.
_LEANS = re.compile(
    r"(?:this|that|these|those|it|they|he|she|such|there|in (?:this|that|these|such)\b.*?"
    r"|otherwise|however|for (?:this|that)|the (?:same|latter|former))\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"\?[*_\"')\]]*$")
_DIGIT = re.compile(r"\d")
TABLE_RULE = re.compile(r"\|?[\s:|\-]+\|?")


def is_header(line: str) -> bool:
    """Whether a heading is the header row of a continued table: "| Version | Released |"."""
    return len(line) > 2 and line.startswith("|") and line.endswith("|")


def leans(sentence: str) -> bool:
    """Whether a sentence refers to the sentence before it."""
    return bool(_LEANS.match(sentence))


@dataclass(frozen=True, slots=True)
class Statement:
    """A quotable unit: spans of the passage, and the text used to match it.

    `slices` has several entries only for a table row that is quoted with its header.
    """

    slices: tuple[Span, ...]
    wording: str


def statements(text: str) -> Iterator[Statement]:
    """The statements of a passage, in order."""
    spans = sentences(text)
    header: Span | None = None
    place = 0
    while place < len(spans):
        start, end = spans[place]
        if "|" in text[start:end]:
            row, header = _row(text, spans, place, header)
            if row:
                yield row
            place += 1
            continue
        header = None
        last = _whole(text, spans, place)
        yield _statement(text, spans, place, last)
        place = last + 1


def _whole(text: str, spans: list[Span], place: int) -> int:
    """The index of the last sentence of the unit that starts at `place`: a question with its
    answer, or a lead-in with its list."""
    sentence = text[slice(*spans[place])]
    last = place
    if _QUESTION.search(sentence):
        while last + 1 < len(spans) and not _QUESTION.search(text[slice(*spans[last + 1])]):
            last += 1
            if _ends_paragraph(text, spans, last):
                break
    elif sentence.endswith(":"):
        while last + 1 < len(spans) and ITEM_MARK.match(text[slice(*spans[last + 1])]):
            last += 1
    return last


def _ends_paragraph(text: str, spans: list[Span], place: int) -> bool:
    """Whether the paragraph ends here, with a blank line or with a line break before anything but a
    list item. PDF text has no blank lines, and its sentences rarely end with a line inside a
    paragraph."""
    end = spans[place][1]
    if "\n\n" in text[end : end + 3]:
        return True
    following = text[slice(*spans[place + 1])] if place + 1 < len(spans) else ""
    return "\n" in text[end : end + 2] and not ITEM_MARK.match(following)


def _statement(text: str, spans: list[Span], place: int, last: int) -> Statement:
    start, end = spans[place][0], spans[last][1]
    wording = text[start:end]
    if last > place and _QUESTION.search(text[slice(*spans[place])]):
        start = spans[place + 1][0]
        mark = ANSWER_MARK.match(text, start)
        start = mark.end() if mark and mark.end() < end else start
    elif place and _LEANS.match(wording) and "|" not in text[slice(*spans[place - 1])]:
        start = spans[place - 1][0]
        wording = text[start:end]
    return Statement(((start, end),), wording)


def _row(
    text: str, spans: list[Span], place: int, header: Span | None
) -> tuple[Statement | None, Span | None]:
    """The statement for a table row with its header, if any, and the current header. Header rows
    and rule lines are not statements."""
    span = spans[place]
    line = text[slice(*span)]
    if TABLE_RULE.fullmatch(line):
        return None, (header[0], span[1]) if header else None
    following = text[slice(*spans[place + 1])] if place + 1 < len(spans) else ""
    if header is None and (TABLE_RULE.fullmatch(following) or _names_columns(line, following)):
        return None, span
    slices = (header, span) if header else (span,)
    wording = " ".join(text[slice(*part)] for part in slices)
    return Statement(slices, re.sub(r"[|\-:]{2,}|\|", " ", wording)), header


def _names_columns(row: str, following: str) -> bool:
    """Whether a row is the header of a table without a rule line: it has no number, but the next
    row has, and as many cells."""
    if row.count("|") != following.count("|") or "|" not in row:
        return False
    return not _DIGIT.search(row) and bool(_DIGIT.search(following))


def apart(spans: set[Span]) -> list[Span]:
    """The spans in order. Those that overlap become one, so that nothing is quoted twice."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found
