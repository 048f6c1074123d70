"""Splits a drafted answer into sentences, each with its exact span, kind and citations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from suffice.deadline import watched
from suffice.text.marks import bare, citations
from suffice.text.nonclaims import StatementKind, nonclaim, speaks_of_sources, with_subject
from suffice.text.sentences import ITEM_MARK, is_code, sentences
from suffice.text.words import auxiliaries

__all__ = ["LONGEST_CONTEXT", "Statement", "StatementKind", "claims"]

_COUNTED = re.compile(
    r"(?:step|part|section|chapter|phase|option|method|question|passage|source|q)\s*\d{1,3}(?:\.\d{1,3})*"
    r"\s*[.):–-]*(?:\s+|$)|\d{1,3}(?:(?:\.\d{1,3})+|[.):])\s+",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"[$€£]\s?\d|\d\s?[%€£]|\b\d[\d.,]{0,40}[ -]?(?:per\s?cent|percent|years?|months?|weeks?|days?|"
    r"hours?|minutes?|seconds?|euros?|dollars?|pounds?|kg|km|cm|mm|miles?|times)\b",
    re.IGNORECASE,
)
# "No refunds", "Free for all staff": a heading that states a rule.
_SETS_RULE = re.compile(
    r"\b(?:no|not|never|none|nobody|without|only|all|every|everyone|always|free)\b|n['’]t\b",
    re.IGNORECASE,
)
_GIVES = re.compile(r":\s*\S")
_PROSE = re.compile(r"[\w\s.,:;!?'’\"“”()%$€£/&-]+")
_CODE_LINE = re.compile(r"`[^`]+`[.:]?")
_BOLD = re.compile(r"(?:\*\*|__)[^*\n]{1,120}(?:\*\*|__):?")
_ASKING = re.compile(r"(?:what|how|why|when|where|who|which)\b", re.IGNORECASE)
_LABEL = re.compile(r"[A-Z][\w&/'’ -]{0,60}:$")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_RULE = re.compile(r"[\s|:=*_~-]+$")
_SPLIT_CELL = re.compile(r"(?<!\\)\|")
_SOURCES = re.compile(
    r"[\W_]*(?:sources?|references?|citations?|footnotes?)[\W_]*(?:\n|$)", re.IGNORECASE
)
LONGEST_CONTEXT = 300


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of a draft: `draft[start:end] == text`.

    `words` is the text without citation marks and Markdown; a table row becomes "Header: cell"
    pairs. For a list item, `context` is the line that introduces the list.
    """

    text: str
    start: int
    end: int
    kind: StatementKind
    words: str
    cites: tuple[int, ...] = ()
    context: str = ""

    @property
    def checkable(self) -> bool:
        return self.kind is StatementKind.CLAIM

    @property
    def alone(self) -> str:
        """The sentence without marks; a list item is preceded by its lead-in."""
        return f"{self.context} {self.words}".strip()


def claims(text: str) -> list[Statement]:
    """Every sentence of a draft in order, except horizontal rules and lone marks."""
    found: list[Statement] = []
    sources = False  # whether "they" are the documents: "The passages say … They do not say …"
    for start, end, cites in watched(_cited(text)):
        sentence = text[start:end]
        if not any(char.isalnum() for char in sentence) or _RULE.fullmatch(sentence):
            continue
        code = _is_code(sentence)
        words = sentence if code else bare(sentence)
        said = with_subject(words) if sources else words
        kind = StatementKind.CODE if code else _kind(sentence, said)
        sources = speaks_of_sources(said)
        found.append(Statement(sentence, start, end, kind, words, cites))
    return _with_context(text, _rows(text, found))


def _cited(text: str) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """The span and citations of each sentence; the span excludes marks before and after it.

    Marks after a full stop cite the preceding sentence if it is in the same paragraph.
    """
    waiting: tuple[int, int, tuple[int, ...]] | None = None
    for start, end in sentences(text):
        lead, start_, cites, end_ = _peeled(text, start, end)
        if waiting is not None:
            first, last, before = waiting
            same = "\n" not in text[last:start]
            if (same and lead) or (lead and start_ >= end_):
                yield first, last, _merged(before, lead)
                lead = ()
            else:
                yield waiting
        waiting = None
        if start_ < end_:
            waiting = (start_, end_, _merged(lead, cites))
        elif lead:
            yield start, end, lead
    if waiting is not None:
        yield waiting


def _peeled(text: str, start: int, end: int) -> tuple[tuple[int, ...], int, tuple[int, ...], int]:
    """The citations before a sentence, its start, the citations in and after it, and its end."""
    sentence = text[start:end]
    lead: tuple[int, ...] = ()
    rest: tuple[int, ...] = ()
    first, last = 0, len(sentence)
    marks = [] if _is_code(sentence) else citations(sentence)
    for (begin, stop), numbers in marks:
        if not rest and not sentence[first:begin].strip(" .,;\n\t"):
            lead = _merged(lead, numbers)
            first = stop
        else:
            rest = _merged(rest, numbers)
    for (begin, stop), _ in reversed(marks):
        # A mark before the full stop stays in the sentence: "… weeks [1]."
        if (
            begin >= first
            and not sentence[stop:last].strip()
            and sentence[first:begin].rstrip()[-1:] in ".!?"
        ):
            last = begin
    while first < last and (sentence[first].isspace() or (first and sentence[first] in ".,;")):
        first += 1
    while last > first and sentence[last - 1].isspace():
        last -= 1
    return lead, start + first, rest, start + last


def _merged(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _kind(sentence: str, words: str) -> StatementKind:
    """The kind of a sentence that is not code. `words` is the sentence without marks."""
    if not any(char.isalnum() for char in words):
        return StatementKind.META
    if _SOURCES.match(sentence) and not auxiliaries(words):
        return StatementKind.META
    kind = nonclaim(words)
    if kind is not None:
        return kind
    return StatementKind.HEADING if _is_heading(sentence, words) else StatementKind.CLAIM


def _is_heading(sentence: str, words: str) -> bool:
    """Whether a line is a heading. A heading that states something counts as a sentence."""
    label = bool(_LABEL.fullmatch(words)) and len(words.split()) <= 6
    marked = sentence.startswith("#") or bool(_BOLD.fullmatch(sentence))
    return (label or marked) and not _states_something(words)


def _states_something(words: str) -> bool:
    """Whether a line states something: it contains an auxiliary verb, an amount, a value after a
    colon, or a word such as "no", "only" or "every"."""
    name = words[counted.end() :] if (counted := _COUNTED.match(words)) else words
    if _ASKING.match(name):
        return False
    gives = bool(_GIVES.search(name)) and any(char.isdigit() for char in name)
    sets_rule = bool(_SETS_RULE.search(name)) and len(name.split()) > 1
    return gives or sets_rule or bool(_AMOUNT.search(name)) or bool(auxiliaries(name))


def _is_code(sentence: str) -> bool:
    """Whether a block is code rather than prose in a code block."""
    fenced, lined = is_code(sentence), bool(_CODE_LINE.fullmatch(sentence))
    return (fenced or lined) and not _is_prose(sentence.strip("`~.: \n").partition("\n"), fenced)


def _is_prose(parts: tuple[str, str, str], fenced: bool) -> bool:
    """Whether a code block contains only sentences."""
    language, newline, rest = parts
    text = rest if fenced and newline and " " not in language else "".join(parts)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    plain = [line for line in lines if _PROSE.fullmatch(line) and len(line.split()) > 2]
    return bool(plain) and len(plain) == len(lines) and any(map(_states_something, plain))


def _rows(text: str, found: list[Statement]) -> list[Statement]:
    """Add the column headers to the words of each table row, and mark header rows as headings. A
    blank line ends a table."""
    header: list[str] = []
    done: list[Statement] = []
    for place, one in enumerate(found):
        if done and _BLANK_LINE.search(text[done[-1].end : one.start]):
            header = []
        if not one.text.lstrip().startswith("|"):
            header = []
            done.append(one)
            continue
        cells = _cells(one.text)
        below = found[place + 1].start if place + 1 < len(found) else len(text)
        if not header and _ruled(text[one.end : below]):
            header = cells
            done.append(replace(one, kind=StatementKind.HEADING, words="; ".join(cells)))
            continue
        pairs = [
            f"{header[at]}: {cell}" if at < len(header) and header[at] else cell
            for at, cell in enumerate(cells)
            if cell
        ]
        done.append(replace(one, kind=StatementKind.CLAIM, words="; ".join(pairs)))
    return done


def _cells(row: str) -> list[str]:
    return [bare(cell.strip()) for cell in _SPLIT_CELL.split(row.strip().strip("|"))]


def _ruled(between: str) -> bool:
    return "|" in between and "-" in between


def _with_context(text: str, found: list[Statement]) -> list[Statement]:
    """Mark the lead-in of each list as META and add it as context to the list items."""
    done: list[Statement] = []
    lead_in = ""
    sourced = False
    for place, one in enumerate(found):
        follows = found[place + 1] if place + 1 < len(found) else None
        item = bool(ITEM_MARK.match(one.text))
        if _introduces(one, follows) and not item:
            lead_in = one.words[:LONGEST_CONTEXT]
            one = replace(one, kind=_lead_kind(one, follows))
        elif one.kind is StatementKind.HEADING:
            lead_in = one.words[:LONGEST_CONTEXT]
        elif not item and not _in_item(text, one.start) and one.kind is not StatementKind.CODE:
            lead_in = ""
        if not one.checkable:
            sourced = bool(_SOURCES.match(one.words))
        elif sourced and one.cites and not auxiliaries(one.words):
            one = replace(one, kind=StatementKind.META)
        else:
            sourced = False
            one = replace(one, context=lead_in if item else "")
        done.append(one)
    return done


def _in_item(text: str, place: int) -> bool:
    line = text.rfind("\n", 0, place) + 1
    return bool(ITEM_MARK.match(text, line))


def _introduces(statement: Statement, follows: Statement | None) -> bool:
    if follows is None or not statement.words.rstrip().endswith(":"):
        return False
    return bool(ITEM_MARK.match(follows.text)) or follows.kind is StatementKind.CODE


def _lead_kind(statement: Statement, follows: Statement | None) -> StatementKind:
    """META for a lead-in that is checked as part of its items. A lead-in that contains a number, or
    that introduces code, keeps its kind and is checked itself."""
    numbered = any(char.isdigit() for char in statement.words)
    whole = len(statement.words) <= LONGEST_CONTEXT  # the items are judged with all of it
    read = follows is not None and follows.checkable and whole and not numbered
    return StatementKind.META if read and statement.checkable else statement.kind
