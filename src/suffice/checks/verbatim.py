"""Backs a claim that quotes a cited passage verbatim. Other claims stay unchecked."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from suffice.checks.claim_text import with_metadata
from suffice.checks.entailment import roots
from suffice.deadline import watched
from suffice.text.claims import Statement, claims, nonclaim
from suffice.text.marks import bare
from suffice.text.readable import Readable, readable
from suffice.text.sentences import (
    ANSWER_MARK,
    ITEM_MARK,
    TABLE_RULE,
    Span,
    is_header,
    leans,
    sentences,
)
from suffice.text.words import content_words
from suffice.types import Claim, Draft, Evidence, Finding, Passage, Support

_HEADING = re.compile(r"#{1,6}\s|(?:\*\*|__)[^*\n]{1,120}(?:\*\*|__):?$")
_ASKS = re.compile(r"\?[*_\"')\]]*$")
# An answer that means nothing without its question.
_BARE = re.compile(
    r"(?:yes|no|yep|nope|never|always|sometimes|correct|right|wrong|true|false|neither|both|none|"
    r"exactly|of course|absolutely|certainly(?: not)?|it depends)\s*(?:[.,;!—–-]|$)",
    re.IGNORECASE,
)
_FEW_WORDS = 3
_QUOTED = "> "
_UNSAID = re.compile(
    r"\b(?:myths?|false|wrong|incorrect|misconceptions?|outdated|obsolete|former(?:ly)?|previous(?:ly)?|"
    r"superseded|abolished|withdrawn|rejected|repealed|no longer)\b",
    re.IGNORECASE,
)
_EXCLUDES = re.compile(
    r"\b(?:not|no|never|none|without|exclu\w+|except\w*|prohibit\w*|forbidden|banned|ineligible|"
    r"restricted|un\w+able)\b|n['’]t\b",
    re.IGNORECASE,
)
_KEY = 12


@dataclass(frozen=True, slots=True)
class Quote:
    """A verbatim match in a passage. `needs` is text that must also precede it in the answer, empty
    if the quote can stand alone. `asked` is the question that the quote answers. `head` is the
    first row of its table."""

    span: Span
    needs: str = ""
    asked: str = ""
    head: str = ""


@dataclass(frozen=True, slots=True)
class _Face:
    """A form of a passage's text. `starts` maps the first letters of each sentence to its start
    here, its start in the source, and its number. `ends` maps its end here to its end in the
    source."""

    text: str
    starts: Mapping[str, list[tuple[int, int, int]]]
    ends: Mapping[int, int]

    @classmethod
    def of(cls, read: Readable, spans: Sequence[Span]) -> _Face:
        starts: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        ends: dict[int, int] = {}
        for number, (first, last) in enumerate(spans):
            start, end = read.bounds(first, last)
            ends[end] = last
            answer = ANSWER_MARK.match(read.text, start, end)
            marks = (answer, ITEM_MARK.match(read.text, start, end))
            for place in {start, *(mark.end() for mark in marks if mark and mark.end() < end)}:
                source = first if place == start else read.places[place]
                for key in {read.text[place : place + _KEY], read.text[place:end][:_KEY]}:
                    starts[key].append((place, source, number))
        return cls(read.text, starts, ends)

    def find(self, quote: str) -> Iterator[tuple[Span, int]]:
        for start, source, number in self._at(quote) if quote else ():
            end = self.ends.get(start + len(quote))
            if end is not None and self.text.startswith(quote, start):
                yield (source, end), number

    def _at(self, quote: str) -> Iterable[tuple[int, int, int]]:
        """Possible starts. A text shorter than a key is compared with every sentence."""
        if len(quote) >= _KEY:
            return self.starts.get(quote[:_KEY], ())
        return dict.fromkeys(place for places in self.starts.values() for place in places)


@dataclass(frozen=True)
class Quotable:
    """The sentences of a passage, indexed by their first letters."""

    passage: Passage

    @cached_property
    def _spans(self) -> list[Span]:
        return sentences(self.passage.text)

    @cached_property
    def _faces(self) -> list[_Face]:
        """The readable text and, if different, the raw text. A drafter may quote either."""
        read = Readable.of(self.passage.text)
        written = Readable.plain(self.passage.text)
        faces = [read] if read.text == written.text else [read, written]
        return [_Face.of(face, self._spans) for face in faces]

    @cached_property
    def _leads(self) -> list[str]:
        return list(lead_ins(self.passage, self._spans))

    @cached_property
    def _heads(self) -> dict[int, str]:
        found = heads(self.passage.text, self._spans)
        above = self.passage.heading[-1:]
        if above and is_header(above[0]):  # the passage continues a table
            first = next(iter(found.values()), "")
            found |= {start: cells(above[0]) for start, head in found.items() if head == first}
        return found

    def find(self, quote: str) -> Iterator[Quote]:
        """Every place where this text is one or more whole sentences of the passage."""
        found: set[Span] = set()
        plain = readable(quote).strip()
        if not _same_words(plain, quote):  # what looks like markup in a draft is text
            plain = quote
        for face, words in zip(self._faces, (plain, quote), strict=False):
            for span, number in face.find(words):
                if span not in found:
                    found.add(span)
                    yield self._quote(span, number)

    def _quote(self, span: Span, number: int) -> Quote:
        text = self.passage.text
        sentence = bare(text[slice(*span)])
        if "|" in sentence:
            return Quote(span, head=self._heads.get(self._spans[number][0], ""))
        before = text[slice(*self._spans[number - 1])] if number else ""
        if lead := self._leads[number]:
            return Quote(span, needs=bare(lead))
        if _ASKS.search(before) and _elliptic(sentence):
            return Quote(span, asked=bare(before))
        if _elliptic(sentence) and _BARE.match(sentence):
            return Quote(span, needs=bare(before) or sentence)
        return Quote(span, needs=bare(before) if leans(sentence) else "")


def _same_words(first: str, second: str) -> bool:
    return [*filter(str.isalnum, first)] == [*filter(str.isalnum, second)]


def lead_ins(passage: Passage, spans: Sequence[Span]) -> Iterator[str]:
    """For each sentence, the line that introduces it, or a heading that negates it."""
    text = passage.text
    heading = " ".join((passage.title, *passage.heading[-1:]))
    lead, opened = "", False
    for start, end in spans:
        line = text[start:end].rstrip()
        item = bool(ITEM_MARK.match(line))
        titled = bool(_HEADING.match(line))
        takes_back = _UNSAID.search(heading) or (item and _EXCLUDES.search(heading))
        if titled:
            heading, lead = line, ""
        elif not item and not opened:
            lead = ""
        yield "" if titled else lead or (heading if takes_back else "")
        opened = line.endswith(":") and not titled
        lead = line if opened else lead


def heads(text: str, spans: Sequence[Span]) -> dict[int, str]:
    """The header row of the table for each table row, by the row's start; empty if the text begins
    within a table."""
    found: dict[int, str] = {}
    head, last = "", -1
    for start, end in spans:
        if "|" not in text[start:end]:
            last = -1
            continue
        if last < 0 or "\n\n" in text[last:start]:
            below = text[end:].lstrip().partition("\n")[0]
            head = cells(text[start:end]) if TABLE_RULE.fullmatch(below.lstrip(_QUOTED)) else ""
        found[start] = head
        last = end
    return found


def cells(row: str) -> str:
    row = row.strip().lstrip(_QUOTED).strip("|")
    return "|".join(bare(cell).strip() for cell in row.split("|"))


def _elliptic(sentence: str) -> bool:
    """Whether a text answers without naming its subject: "Yes.", "Up to 18 weeks."."""
    return bool(_BARE.match(sentence)) or len(content_words(sentence)) < _FEW_WORDS


_OTHER_PLACE = "quoted without the context it depends on: “{}”"
_SAME_QUESTION = 0.6
"""Two questions are the same if the user's contains this share of the words of the source's."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """The cheapest check, which accepts whole sentences of a passage in the evidence.

    Part of a sentence is not a quotation: "employees may carry over leave" from "No employees may
    carry over leave" says the opposite. A sentence must also keep its meaning: it is not accepted
    if its context in the source is missing, or if the text before it in the draft changes it.
    """

    uncited: bool = False
    """Whether citations are not expected, so that a claim may quote any passage."""
    name: str = "verbatim"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        library = {passage.id: Quotable(passage) for passage in evidence.passages}
        cited = {citation.n: library.get(citation.passage.id) for citation in draft.citations}
        everywhere = [*library.values()] if self.uncited else []
        page = _Page.of(draft, evidence.question)
        return [
            self._judge(claim, everywhere or [cited.get(n) for n in claim.cites], page)
            for claim in watched(draft.claims)
        ]

    def _judge(self, claim: Claim, sources: Sequence[Quotable | None], page: _Page) -> Finding:
        reason = "not a verbatim quotation of a cited passage"
        for source in sources:
            for text in dict.fromkeys((bare(claim.text), claim.text)) if source else ():
                for quote in source.find(text) if source else ():
                    if source and page.keeps(claim, quote, source.passage):
                        return Finding(
                            claim, self.name, Support.BACKED, 1.0, source.passage.id, quote.span
                        )
                    reason = _OTHER_PLACE.format(quote.needs or quote.asked or quote.head)
        return Finding(claim, self.name, Support.UNCHECKED, reason=reason)


@dataclass(frozen=True, slots=True)
class _Page:
    """A draft as the reader sees it: the text before each claim."""

    question: str
    read: dict[int, Statement]
    before: dict[int, str]
    heads: dict[int, str]

    @classmethod
    def of(cls, draft: Draft, question: str) -> _Page:
        read = claims(draft.text)
        words = ["", *(one.words for one in read)]
        return cls(
            question,
            {one.start: one for one in read},
            {one.start: text for one, text in zip(read, words, strict=False)},
            heads(draft.text, sentences(draft.text)) if "|" in draft.text else {},
        )

    def keeps(self, claim: Claim, quote: Quote, passage: Passage) -> bool:
        """Whether a quotation has the same context as in its source."""
        if quote.head:
            return self.heads.get(claim.start, quote.head) == quote.head
        own = self._lead(claim)
        if quote.needs:
            return quote.needs in (own, self.before.get(claim.start, ""))
        if quote.asked:
            return self._asked(claim, quote.asked)
        return not own or nonclaim(own) is not None or roots(own) <= self._roots_in_context(passage)

    def _lead(self, claim: Claim) -> str:
        """The line that introduces the list a claim belongs to."""
        one = self.read.get(claim.start)
        return one.context if one else ""

    def _asked(self, claim: Claim, asked: str) -> bool:
        wanted = roots(asked)
        shown = self.before.get(claim.start, "") == asked
        return shown or len(wanted & roots(self.question)) >= _SAME_QUESTION * max(1, len(wanted))

    def _roots_in_context(self, passage: Passage) -> frozenset[str]:
        return roots(with_metadata(passage)) | roots(self.question)
