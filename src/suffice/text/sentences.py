"""Sentences and statements with exact spans: `text[start:end]` has no white space at its ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from suffice.deadline import watched

Span = tuple[int, int]

# The prefix of an answer in a question-and-answer pair.
ANSWER_MARK = re.compile(r"(?:\*\*)?(?:A|Answer)\s*:(?:\*\*)?\s*")

# The prefix of a list item.
ITEM_MARK = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")

# A list item, a table row or a heading is a separate unit, even without a full stop.
_UNIT_START = re.compile(
    r"[ \t]*(?:[-*+•]\s|\d{1,3}[.)]\s|\||#{1,6}\s|>\s|\*\*[A-Z]:|\w[\w-]*(?:\.\w[\w-]*)+: "
    r"|</?(?:p|div|[udo]l|li|d[td]|table|t[rdh]|h[1-6]|section|details|summary|blockquote)\b)"
)
_ROW = re.compile(r"[^\n|]*\|[^\n]*")
# "…in the brain.The next sentence": extracted text often loses the space between sentences.
_GLUED = re.compile(r"(?:(?<=[a-z]{3})|(?<=[)%]))[.!?](?=[A-Z][a-z]*[ ,])")
# "…in Goleta, CA. The shop": a state abbreviation ends the sentence if the next word starts one.
_AFTER_STATE = re.compile(
    r"(?<=, [A-Z]{2})\.(?=\s(?:The|It|Its|This|They|Their|He|She|We|With|In|At|For|However|One)\b)"
)
# "…is cold. Gravy is": a full stop after an ordinary word ends the sentence in any case.
_PLAIN_END = re.compile(
    r"\b([a-z]{3,}|so|it|up|us|me|do|go|is|on|be|to)\."
    r"(?=\s+[A-Z][a-z]*+(?:['’][a-z]*+)?,?\s)"
)
# "…per week. [1] HR approves": a full stop before a citation mark ends the sentence, unless it
# belongs to an abbreviation ("Smith et al. [1] found").
_MARKED_END = re.compile(
    r"(?<![^\s.])([^\s.]+)\."
    r"(?:[⁰¹²³⁴-⁹]{1,3}|(?=\s*[\[【])|(?<=[①-⑳]\.))"
    r"(?=(?:\s*[\[【]\^?\d[\d,;\s–-]*[\]】])*\s+[^\W\d_a-z])"
)
_ABBREVIATIONS = frozenset(
    """approx art assn ave avg bldg blvd cert chap cont dept dist div eds est etc exc excl ext
    fig figs govt hon hrs incl intl lbs max mfg mgr min mins misc mtg nat natl oct orig
    para pres prof pvt ref refs resp rev sched sec secs sect sept spec std subsec supp
    tbsp tel temp tsp univ vol vols yrs viz esp""".split()
)
# Abbreviations before a reference: "et al. [1]", "No. [2]", "pp. [3]".
_REFERRING = _ABBREVIATIONS | frozenset("al cf ch ed eq ibid no nos p pp pt vs".split())
_FENCE = re.compile(r"[ \t]*(?:(`{3,})(?=[^`\n]*(?:\n|\Z))|(~{3,}))")
# The splitter reads such a run once for each sign in it that may end a sentence.
_UNSPACED = re.compile(r"(?<!\S)\S{300,}")
_UNSPACED_END = 100
_ENDS = str.maketrans(dict.fromkeys(".!?…", "x"))


def sentences(text: str) -> list[Span]:
    """The sentence spans of a text, in order. List items and table rows are separate units."""
    return [span for block in watched(blocks(text)) for span in _split_block(text, *block)]


def blocks(text: str) -> Iterator[Span]:
    """Runs of lines that belong together: a paragraph, a list item, a table row or a heading."""
    start: int | None = None
    end = 0
    fences = _fences(text)
    fenced = False
    for line_start, line_end in _lines(text):
        line = text[line_start:line_end]
        fence = line_start in fences
        breaks = not line.strip() or bool(_UNIT_START.match(line)) or bool(_ROW.fullmatch(line))
        if start is not None and (breaks or fence) and not fenced:
            yield start, end
            start = None
        if line.strip() and start is None:
            start = line_start
        end = line_end
        closed = (fence and fenced) or (not fenced and _is_whole_row(text, line_start, line_end))
        if closed and start is not None:
            yield start, end
            start = None
        fenced ^= fence
    if start is not None:
        yield start, end


def _is_whole_row(text: str, start: int, end: int) -> bool:
    """Whether a line is a complete table row. Without a leading bar ("$50 | $4.50"), it may be
    prose that continues on the next line."""
    if text[start:end].lstrip().startswith("|"):
        return True
    return bool(_ROW.fullmatch(text, start, end)) and not text[end + 1 : end + 2].islower()


def is_code(block: str) -> bool:
    """Whether a block is fenced code, from the opening to the closing fence."""
    found = _FENCE.match(block)
    last = block.rstrip().rfind("\n")
    return bool(found) and last > 0 and bool(_FENCE.match(block, last + 1))


def _fences(text: str) -> set[int]:
    """The starts of lines that open or close a code block. An unclosed fence does not count."""
    places: list[int] = []
    opened = ""
    for start, end in _lines(text):
        if found := _FENCE.match(text, start, end):
            mark = found[0].strip()
            closes = mark.startswith(opened) and not text[found.end() : end].strip()
            if not opened or closes:
                places.append(start)
                opened = "" if opened else mark
    return set(places[:-1] if opened else places)


def _lines(text: str) -> Iterator[Span]:
    start = 0
    while start < len(text):
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline
        yield start, end
        start = end + 1


def _split_block(text: str, start: int, end: int) -> Iterator[Span]:
    block = text[start:end]
    if "|" in block or is_code(block):
        yield from _trimmed(text, start, end)
        return
    for first, last in _splitter().sent_spans(_UNSPACED.sub(_without_ends, block)):
        for one, other in pairwise((first, *_missed(block, first, last), last)):
            yield from _trimmed(text, start + one, start + other)


def _without_ends(run: re.Match[str]) -> str:
    return run[0][:-_UNSPACED_END].translate(_ENDS) + run[0][-_UNSPACED_END:]


def _missed(block: str, first: int, last: int) -> list[int]:
    """Sentence ends that the splitter missed in a block."""
    ends = {match.end() for match in _GLUED.finditer(block, first, last)}
    ends |= {match.end() for match in _AFTER_STATE.finditer(block, first, last)}
    for match in _PLAIN_END.finditer(block, first, last):
        if match[1] not in _ABBREVIATIONS:
            ends.add(match.end())
    for match in _MARKED_END.finditer(block, first, last):
        if match[1].lower() not in _REFERRING:
            ends.add(match.end())
    return sorted(ends)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


@cache
def _splitter() -> Any:
    # Loaded on first use, because it reads a data file and `import suffice` must stay light.
    import nupunkt

    return nupunkt


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
