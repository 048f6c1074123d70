"""Matches a source named in words with retrieved passages or stored documents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from suffice.text.named import Named, NamedKind, named
from suffice.text.words import content_words
from suffice.types import Code, Passage


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
        return any(one.key == name.key for one in _standards(passage))
    words = set(name.key.split())
    known = set(content_words(f"{passage.title} {_spaced(passage.document)}"))
    return words <= known or (len(known) > 1 and known <= words) or _mentions(passage, name)


def editions(passage: Passage, name: Named) -> set[str]:
    """The editions of a standard that a passage mentions, or the version of a titled document."""
    if name.kind is NamedKind.STANDARD:
        return {one.edition for one in _standards(passage) if one.key == name.key}
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


def _standards(passage: Passage) -> list[Named]:
    text = "\n".join((passage.title, *passage.heading, passage.text))
    return [one for one in named(text) if one.kind is NamedKind.STANDARD]


def _mentions(passage: Passage, name: Named) -> bool:
    text = " ".join((*passage.heading, passage.text)).casefold()
    return name.text.casefold() in " ".join(text.split())


def _spaced(document: str) -> str:
    return re.sub(r"[^A-Za-z]+", " ", document.rpartition(".")[0] or document)


def _years(text: str) -> list[str]:
    return re.findall(r"\b(?:19|20)\d\d\b", text)
