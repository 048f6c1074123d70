"""Matches a source named in words with retrieved passages or stored documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Protocol

from suffice.text.words import content_words
from suffice.types import Code, Passage


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


class Documents(Protocol):
    """Looks up documents that were not retrieved, within the rights of the caller."""

    def lookup(self, ids: Sequence[str]) -> Mapping[str, Passage]: ...

    def titled(self, words: Sequence[str]) -> Sequence[Passage]: ...

    def holding(self, phrase: str, documents: Sequence[str] = ()) -> Sequence[Passage]: ...


@dataclass(frozen=True, slots=True)
class Resolved:
    """The result for a citation or named source. `code` is RESOLVED, or the problem found."""

    code: Code
    reason: str
    passage: Passage | None = None


def version_fault(passage: Passage, day: date) -> Code | None:
    """Why a version must not be cited on a day: EXPIRED, or STALE if it is superseded, retired or
    not yet in force. `None` if it is in force."""
    if passage.expires and passage.expires < day:
        return Code.EXPIRED
    since = passage.since or passage.effective
    if (passage.until and passage.until <= day) or (since and since > day):
        return Code.STALE
    return None


def described(passage: Passage) -> str:
    """A document as shown to readers, such as “Remote work policy”, version 2.0."""
    version = f", version {passage.declared}" if passage.declared else ""
    return f"“{passage.title or passage.document}”{version}"


def holds(passage: Passage, name: Named) -> bool:
    """Whether a passage contains the section, or mentions the standard or title."""
    if name.kind is NamedKind.SECTION:
        return _has_section(passage, name.key)
    if name.kind is NamedKind.STANDARD:
        return any(one.key == name.key for one in _standards_of(passage))
    words = set(name.key.split())
    known = set(content_words(f"{passage.title} {_spaced(passage.document)}"))
    return words <= known or (len(known) > 1 and known <= words) or _mentions(passage, name)


def editions(passage: Passage, name: Named) -> set[str]:
    """The editions of a standard that a passage mentions, or the version of a titled document."""
    if name.kind is NamedKind.STANDARD:
        return {one.edition for one in _standards_of(passage) if one.key == name.key}
    dates = (day for day in (passage.effective, passage.since) if day)
    return {passage.version.lower(), *(str(day.year) for day in dates), *_years(passage.title)}


def _has_section(passage: Passage, number: str) -> bool:
    """Whether the text mentions "Section 4.2", or a heading has that number."""
    pattern = (
        r"(?:§§?|sections?|sect?\.|clauses?|articles?|art\.|chapters?|paragraphs?|para\.|annex|"
    )
    pattern += rf"appendix)[ \u00a0]?{re.escape(number)}(?![\w])(?!\.\d)"
    numbered = rf"(?m)^[ \t]*(?:#{{1,6}}[ ]|\*\*)?{re.escape(number)}[.)]?[ \t]+\S"
    text = "\n".join((*passage.heading, passage.text))
    if re.search(pattern, text, re.IGNORECASE) or re.search(numbered, text):
        return True
    # Three numbers with full stops between them can only be a section: "as 8.4.3 requires".
    plain = rf"(?<![\w.]){re.escape(number)}(?![\w]|\.\d)"
    return number.count(".") > 1 and bool(re.search(plain, text))


def _standards_of(passage: Passage) -> list[Named]:
    text = "\n".join((passage.title, *passage.heading, passage.text))
    return [one for one in named(text) if one.kind is NamedKind.STANDARD]


def _mentions(passage: Passage, name: Named) -> bool:
    text = " ".join((*passage.heading, passage.text)).casefold()
    return name.text.casefold() in " ".join(text.split())


def _spaced(document: str) -> str:
    return re.sub(r"[^A-Za-z]+", " ", document.rpartition(".")[0] or document)


def _years(text: str) -> list[str]:
    return re.findall(r"\b(?:19|20)\d\d\b", text)
