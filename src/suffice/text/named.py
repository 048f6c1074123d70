"""Finds sources that a text refers to by name: sections, standards and document titles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from suffice.text.words import content_words


class NamedKind(StrEnum):
    """How a source is named."""

    SECTION = "section"
    STANDARD = "standard"
    TITLE = "title"


@dataclass(frozen=True, slots=True)
class Named:
    """One named source: `source[start:end] == text`.

    `key` identifies it: the number of a section, the body and number of a standard, or the words of
    a title. `edition` is the year or version given, and `clause` the part of a standard.
    """

    kind: NamedKind
    text: str
    start: int
    end: int
    key: str
    edition: str = ""
    clause: str = ""


_SECTION = re.compile(
    r"(?<![\w-])(?:§§?|(?i:sections?|sect?\.|clauses?|articles?|art\.|chapters?|paragraphs?|para\.|"
    r"annex|appendix))[ \u00a0]?(?P<number>\d{1,4}(?:\.\d{1,4}){0,5}[a-z]?|[A-Z](?:\.\d{1,4}){0,4}|"
    r"[IVX]{1,6})(?:\(\w{1,4}\)){0,3}(?![\w-])"
)
_STANDARD = re.compile(
    r"(?<![\w-])(?P<body>ISO(?:/IEC)?(?:/IEEE)?|IEC|DIN(?: EN)?(?: ISO)?|EN ISO|NIST SP|RFC|IEEE|"
    r"ANSI)"
    r"[ -](?P<number>\d[\d.]{0,8}(?:-\d{1,4})?)(?::(?P<edition>(?:19|20)\d\d))?"
    r"(?:,? (?:clause |section |§ ?)?(?P<clause>[A-Z]?\d{0,3}(?:\.\d{1,3}){1,5}))?(?![\w:-])"
)
_NOUN = (
    r"(?:[Pp]olic(?:y|ies)|[Hh]andbook|[Gg]uide(?:lines?)?|[Mm]anual|[Aa]greement|[Aa]ct|"
    r"[Rr]egulations?|[Ss]chedule|[Rr]ules|[Pp]rocedures?|[Ss]tandards?|[Rr]eport|[Dd]irective|"
    r"[Cc]ode|[Cc]harter|[Pp]lan|[Pp]rotocol|[Mm]inutes|[Ss]pecification|[Mm]emo(?:randum)?|FAQ)"
)
_WORD = r"[A-Z][\w'’&-]*"
_LOWER = rf"(?!the |this |that |an? |its |our )[a-z]+(?= {_NOUN}\b)"
_RUN = rf"{_WORD}(?: (?:{_WORD}|of|and|for|on|to|in|{_LOWER})){{0,7}} {_NOUN}"
_SAYS = (
    r"(?:says?|states?|requires?|allows?|provides?|specif(?:y|ies)|defines?|sets?|limits?|permits?|"
    r"prohibits?|forbids?|lays? down|describes?)"
)
_QUOTING = (
    r"(?i:according to|as (?:stated|described|set out|defined|noted|specified|laid down|explained) "
    r"(?:in|by)|in accordance with|pursuant to|as per|per|see|see also|source:)"
)
_EDITION = (
    r"(?:,? \(?(?:(?i:version|v\.?|rev\.?|edition) ?(?P<version>\d[\w.]*\w|\d)|"
    r"(?P<year>(?:19|20)\d\d)(?: edition)?)\)?(?!\d))?"
)
_TITLE = re.compile(
    rf"\b(?:{_QUOTING} (?:the |our |your |its )?[\"“*_]{{1,2}}"
    r"(?P<quoted>[A-Z0-9][^\"”*_\n]{3,120})[\"”*_]{1,2}"
    rf"|(?:{_QUOTING}|(?i:under|from|in|by|of)) (?:the |our |your |its )?(?P<run>{_RUN})\b"
    rf"|(?:The|Our|Your) (?P<says>{_RUN})(?=(?: \([^()\n]{{1,30}}\)| v?\d[\d.]*)? {_SAYS}\b)"
    rf"){_EDITION}"
)


def named(text: str) -> list[Named]:
    """Every source named in a text, in order. A section of a standard is part of its name."""
    found: list[Named] = []
    taken = bytearray(len(text))
    for one in (*_standards(text), *_titles(text), *_sections(text)):
        if not any(taken[one.start : one.end]):
            taken[one.start : one.end] = b"\1" * (one.end - one.start)
            found.append(one)
    return sorted(found, key=lambda one: one.start)


def _sections(text: str) -> Iterator[Named]:
    for match in _SECTION.finditer(text):
        yield _named(NamedKind.SECTION, match, match["number"])


def _standards(text: str) -> Iterator[Named]:
    for match in _STANDARD.finditer(text):
        body = match["body"].replace("/IEC", "").replace("/IEEE", "").split()[-1].lower()
        key = f"{body} {match['number'].rstrip('.')}"
        edition, clause = match["edition"] or "", match["clause"] or ""
        yield Named(NamedKind.STANDARD, match[0], *match.span(), key, edition, clause)


def _titles(text: str) -> Iterator[Named]:
    for match in _TITLE.finditer(text):
        name = next(one for one in ("quoted", "run", "says") if match[one])
        words = content_words(match[name])
        if len(words) < 2:
            continue  # too general: "the Act", "the Report"
        edition = match["version"] or match["year"] or ""
        start, end = match.span(name)
        yield Named(NamedKind.TITLE, text[start:end], start, end, " ".join(words), edition)


def _named(kind: NamedKind, match: re.Match[str], key: str) -> Named:
    return Named(kind, match[0], *match.span(), key)
