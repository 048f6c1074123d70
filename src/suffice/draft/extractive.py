"""The drafter that needs no LLM: it answers with blocks quoted from the evidence.

Every claim in its draft is copied verbatim from the passage it cites.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import cast

from suffice.draft.reading import PLAIN, Brief
from suffice.evidence.sanitize import sanitized
from suffice.evidence.split import context, placed
from suffice.models.embedder import Embedder
from suffice.models.llm.verifier import below_llm
from suffice.models.verifier import (
    FindsSentences,
    Pair,
    SufficiencyScore,
    Verifier,
    sentence_scores,
)
from suffice.settings import DraftSettings
from suffice.switch import rule
from suffice.text.question import several, with_subject
from suffice.text.readable import Readable, readable
from suffice.text.sentences import (
    ITEM_MARK,
    TABLE_RULE,
    Span,
    Statement,
    apart,
    blocks,
    is_header,
    leans,
    sentences,
    statements,
)
from suffice.types import Citation, Claim, Draft, Evidence, Passage

_NUMBER = re.compile(r"^[^\S\n]*+(\d{1,3})[.)]\s", re.MULTILINE)
_CELL = re.compile(r"[^|]+")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A statement, or the block around it, with its score as an answer to the question."""

    passage: Passage
    statement: Statement
    score: float
    answers: float | None = None
    """The probability that it answers the question by itself, if it was judged."""
    headings: tuple[str, ...] = ()
    """The headings within the passage above a block."""
    lit: tuple[Statement, ...] = ()
    """The statements of a block that answer by themselves."""

    @property
    def alone(self) -> str:
        """The statement with its headings, and a table row with its header."""
        row = len(self.statement.slices) > 1
        text = "\n".join(self.quotes) if row else self.statement.wording
        heading = (*self.passage.heading, *self.headings)
        return placed(replace(self.passage, text=text, heading=heading))

    @property
    def quotes(self) -> list[str]:
        return [self.passage.text[start:end] for start, end in self.statement.slices]


def compose(chosen: Sequence[Ranked]) -> Draft:
    """The statements as one text with citations and exact claim spans.

    The passage of the best statement comes first; within a passage, statements keep their order and
    table rows share one header.
    """
    by_passage: dict[str, list[Ranked]] = {}
    for entry in chosen:
        by_passage.setdefault(entry.passage.id, []).append(entry)
    page = _DraftBuilder()
    citations: list[Citation] = []
    lit: list[str] = []
    for n, entries in enumerate(by_passage.values(), 1):
        passage = entries[0].passage
        slices = apart({span for entry in entries for span in entry.statement.slices})
        read = Readable.of(passage.text)
        numbers = frozenset(map(int, _NUMBER.findall(passage.text)))
        texts = (text for span in slices if (text := read.cut(*span)))
        page.write([_unlisted(text, numbers) for text in texts], n, _header(passage))
        lit += (read.cut(*one.slices[-1]) for entry in entries for one in entry.lit)
        quotes = (passage.text[start:end] for start, end in slices)
        citations.append(Citation(n, passage, " … ".join(quotes)))
    marked = tuple(text for text in dict.fromkeys(lit) if text and text in page.text)
    return Draft(page.text, tuple(page.claims), tuple(citations), "extractive", highlights=marked)


@dataclass(slots=True)
class _DraftBuilder:
    """The draft text under construction, with the claims written so far."""

    text: str = ""
    claims: list[Claim] = field(default_factory=list)

    def write(self, quotes: Sequence[str], n: int, header: str = "") -> None:
        """Append quotes from passage `n`. `header` is that of a table the passage continues."""
        for table, run in groupby(quotes, key=lambda quote: "|" in quote):
            if table:
                rows = list(run)
                headed = any(map(TABLE_RULE.fullmatch, rows[0].split("\n")))
                above = f"{header}\n" if header and not headed else ""
                self._add(rows, n, mark=f"\n\n[{n}]", gap="\n\n", above=above)
                continue
            for quote in run:
                gap = "\n\n" if "\n" in self.text else " "
                self._add([quote], n, mark=f" [{n}]", gap=gap)

    def _add(self, lines: Sequence[str], n: int, *, mark: str, gap: str, above: str = "") -> None:
        for place, line in enumerate(lines):
            self.text += "\n" if place else f"{gap if self.text else ''}{above}"
            start = len(self.text)
            self.text += line
            self.claims.append(Claim(line, start, len(self.text), (n,)))
        self.text += mark


def _header(passage: Passage) -> str:
    above = "".join(passage.heading[-1:])
    return f"{readable(above)}\n{_CELL.sub('---', above)}" if is_header(above) else ""


def _unlisted(quote: str, numbers: frozenset[int]) -> str:
    """A single list item without its bullet, or without its number if the passage has the next or
    the previous one: "12. March" may be a date."""
    mark = None if "\n" in quote else ITEM_MARK.match(quote)
    if mark is None or mark.end() == len(quote):
        return quote
    numbered = _NUMBER.match(quote)
    if numbered and not {int(numbered[1]) - 1, int(numbered[1]) + 1} & numbers:
        return quote
    return quote[mark.end() :]


_LONGEST = 90
"""The words of a block; a longer paragraph or list is several."""
_STEPS = 180
"""The words of a list of numbered steps that is quoted as a whole."""
_ASKED = 40
"""The words of a paragraph that is the question of the next one."""
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+(\S[^\n]*)")
_STEP = re.compile(r"\s*\d{1,3}[.)]\s")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Block:
    """A quotable part of a passage: its spans, and the headings within the passage above it."""

    slices: tuple[Span, ...]
    headings: tuple[str, ...] = ()
    asked: str = ""
    """The question that stands above it, if it is the answer to one."""

    def wording(self, passage: str) -> str:
        """The block as it is read, below the question that it answers."""
        parts = (passage[start:end] for start, end in self.slices)
        return "\n".join([*([self.asked] if self.asked else []), *parts])

    def covers(self, statement: Statement) -> bool:
        """Whether the statement's own words stand in the block."""
        start, end = statement.slices[-1]
        return any(a < end and start < b for a, b in self.slices)


def quotable(text: str) -> list[Block]:
    """The blocks of a passage, in order."""
    found: list[Block] = []
    headings: tuple[tuple[int, str], ...] = ()
    lead: Span | None = None
    asked = ""
    for kind, run in groupby(_parts(text), key=lambda part: part[0]):
        spans = [span for _, span in run]
        if kind == "heading":
            headings = _below(headings, [text[slice(*span)] for span in spans])
            lead, asked = None, ""
            continue
        above = tuple(name for _, name in headings)
        if kind == "row":
            found += [Block(row, above) for row in _rows(text, spans)]
        elif kind in ("step", "item"):
            found += [Block(one, above, asked) for one in _list(text, spans, lead)]
        else:
            last = text[slice(*spans[-1])].rstrip("*_ ")
            lead = spans.pop() if last.endswith(":") else None
            for span in spans:
                if is_question(text[slice(*span)]):
                    asked = text[slice(*span)]
                    continue
                own = [Block((one,), above, asked) for one in _paragraph(text, span)]
                before = found[-1:] if span != spans[0] and not asked else []
                if before and leans(text[slice(*span)]):
                    own = _with(before[0], own, text)
                    del found[-1]
                found += own
                asked = ""
            continue
        lead, asked = None, ""
    return found


def _with(before: Block, own: list[Block], text: str) -> list[Block]:
    """A paragraph that refers to the one before it ("However, …"), together with it."""
    whole = before.slices[0][0], own[0].slices[-1][1]
    if _size(text, whole) > _LONGEST:
        return [before, *own]
    return [replace(before, slices=(whole,)), *own[1:]]


def is_heading(text: str) -> bool:
    return bool(_HEADING.fullmatch(text))


def is_question(paragraph: str) -> bool:
    return paragraph.rstrip("*_ ").endswith("?") and len(_WORD.findall(paragraph)) <= _ASKED


def _below(
    headings: tuple[tuple[int, str], ...], lines: Sequence[str]
) -> tuple[tuple[int, str], ...]:
    """The headings in force, with their levels, after more heading lines."""
    for line in lines:
        name = line.strip().lstrip("#")
        level = len(line.strip()) - len(name)
        headings = (*(one for one in headings if one[0] < level), (level, name.strip()))
    return headings


def _rows(text: str, spans: Sequence[Span]) -> Iterator[tuple[Span, ...]]:
    """The rows of a table, each with its header."""
    first, last = spans[0][0], spans[-1][1]
    for row in statements(text[first:last]):
        yield tuple((first + start, first + end) for start, end in row.slices)


def _parts(text: str) -> Iterator[tuple[str, Span]]:
    """The lines that belong together, by their kind. What is indented within a list belongs to
    it."""
    listed = ""
    for start, end in blocks(text):
        line = text[start:end]
        span = start + len(line) - len(line.lstrip()), end - len(line) + len(line.rstrip())
        if listed and line[:2].isspace():
            yield listed, span
            continue
        listed = ("step" if _STEP.match(line) else "item") if ITEM_MARK.match(line) else ""
        row = "|" in line and "\n" not in line.strip()
        yield "heading" if _HEADING.match(line) else listed or ("row" if row else "text"), span


def _list(text: str, spans: Sequence[Span], lead: Span | None) -> Iterator[tuple[Span, ...]]:
    first = lead[0] if lead else spans[0][0]
    whole = first, spans[-1][1]
    steps = _STEP.match(text, spans[0][0])
    if _size(text, whole) <= (_STEPS if steps else _LONGEST):
        yield (whole,)
        return
    items: list[Span] = []
    for span in spans:
        if ITEM_MARK.match(text[slice(*span)]) or not items:
            items.append(span)
        else:
            items[-1] = items[-1][0], span[1]
    for item in items:
        yield (lead, item) if lead else (item,)


def _paragraph(text: str, span: Span) -> Iterator[Span]:
    """A paragraph, or the runs of its sentences that are short enough."""
    if _size(text, span) <= _LONGEST:
        yield span
        return
    start = end = span[0]
    for first, last in sentences(text[slice(*span)]):
        last_end = span[0] + last
        if end > start and _size(text, (start, last_end)) > _LONGEST:
            yield start, end
            start = span[0] + first
        end = last_end
    yield start, end


def _size(text: str, span: Span) -> int:
    return len(_WORD.findall(text[slice(*span)]))


EVEN = 0.5
_READ_ALONE = 8
"""The number of top blocks that the verifier reads, each by itself."""


@dataclass(frozen=True, slots=True)
class Extractive:
    """Ranks every statement of the evidence by how well it answers the question and keeps the best.
    The verifier scores statements; if it cannot, similarity to the question is used instead."""

    embedder: Embedder
    settings: DraftSettings
    verifier: object | None = None

    def write(self, evidence: Evidence, brief: Brief = PLAIN) -> Draft:
        asked = several(evidence.wanted)
        found = {
            question: self.answer(full, evidence)
            for question, full in zip(asked, with_subject(asked), strict=True)
        }
        left = [question for question, chosen in found.items() if not _answers(chosen)]
        if len(asked) > 1 and len(left) == len(asked):  # try the questions as one
            found, left = {evidence.wanted: self.answer(evidence.wanted, evidence)}, []
        answered = [chosen for question, chosen in found.items() if question not in left]
        answered = answered or list(found.values())
        sure = [probability for chosen in answered if (probability := _surest(chosen)) is not None]
        return replace(
            compose([entry for chosen in answered for entry in chosen]),
            answers=min(sure) if len(sure) == len(answered) else None,
            unanswered=tuple(left) if len(asked) > 1 else (),
        )

    def answer(self, question: str, evidence: Evidence) -> list[Ranked]:
        """The blocks that answer one question; without a verifier, the statements."""
        ranked = [
            entry
            for entry in self.rank(evidence, question)
            if not is_heading(entry.statement.wording)
        ]
        if not isinstance(self.verifier, FindsSentences):
            return self.choose(ranked)
        found = ranked_blocks(ranked)
        asked = evidence.in_context(question)
        read = self.reread(asked, found[:_READ_ALONE])
        return self.lit(asked, self.choose(read, found[_READ_ALONE:]))

    def rank(self, evidence: Evidence, question: str = "") -> list[Ranked]:
        """All usable statements, best first. Instructions to the model are none."""
        question = evidence.in_context(question or evidence.wanted)
        found = _changed(list(_statements(evidence)))
        if not found:
            return []
        scores = answering(self.verifier, question, found)
        scores = scores or self._cosines(question, found)
        ranked = [Ranked(p, s, score) for (p, s), score in zip(found, scores, strict=True)]
        return sorted(ranked, key=lambda entry: -entry.score)

    def reread(self, question: str, ranked: Sequence[Ranked]) -> list[Ranked]:
        """The best blocks, ranked again by how well each answers on its own. In context, a
        statement may get credit for what its neighbours say."""
        pairs = [Pair(question, (entry.alone,)) for entry in ranked]
        scores = below_llm(cast(Verifier, self.verifier)).sufficiency(pairs)
        read = [_judged(entry, score) for entry, score in zip(ranked, scores, strict=True)]
        return sorted(read, key=lambda entry: -entry.score)

    def lit(self, question: str, chosen: Sequence[Ranked]) -> list[Ranked]:
        """The blocks with their statements that answer by themselves; if none does, the best."""
        parts = [_statements_of(entry) for entry in chosen]
        pairs = [
            Pair(question, (replace(entry, statement=one).alone,))
            for entry, own in zip(chosen, parts, strict=True)
            for one in own
        ]
        scores = iter(below_llm(cast(Verifier, self.verifier)).sufficiency(pairs) if pairs else ())
        found = []
        for entry, own in zip(chosen, parts, strict=True):
            read = [(next(scores).enough, one) for one in own]
            least = min(EVEN, max((enough for enough, _ in read), default=EVEN))
            found.append(replace(entry, lit=tuple(one for enough, one in read if enough >= least)))
        return found

    def _cosines(self, question: str, found: Sequence[tuple[Passage, Statement]]) -> list[float]:
        alone = [s.wording for _, s in found]
        placed = [f"{context(p.title, p.heading)}: {s.wording}" for p, s in found]
        vectors = self.embedder.embed([question, *alone, *placed])
        # A good answer is similar both by itself and together with its headings.
        cosines = (vectors[1:] @ vectors[0]).reshape(2, len(found)).mean(axis=0)
        return [float(cosine) for cosine in cosines]

    def choose(self, ranked: Sequence[Ranked], rest: Sequence[Ranked] = ()) -> list[Ranked]:
        """The best statement and those nearly as good; with a verifier, also those with at least
        even odds. Without a verifier, none if even the best is not similar enough."""
        by_verifier = isinstance(self.verifier, FindsSentences)
        if not ranked or (not by_verifier and ranked[0].score < self.settings.min_similarity):
            return []
        good = ranked[0].score * self.settings.min_share_of_best
        good = min(good, EVEN) if by_verifier else good
        chosen: list[Ranked] = []
        for entry in ranked:
            if len(chosen) == self.settings.max_blocks or entry.score < good:
                break
            if any(_is_within(entry, other) for other in chosen):
                continue
            chosen = [other for other in chosen if not _is_within(other, entry)]
            chosen.append(entry)
        return [*chosen, *_other_versions([*ranked, *rest], chosen)]


def _statements_of(entry: Ranked) -> list[Statement]:
    """The statements of a block, if it has several."""
    block = Block(entry.statement.slices)
    own = [one for one in statements(entry.passage.text) if block.covers(one)]
    return own if len(own) > 1 else []


def _statements(evidence: Evidence) -> Iterator[tuple[Passage, Statement]]:
    """The statements that may be quoted, in order, without instructions to the model."""
    for item, read in zip(evidence, sanitized(evidence), strict=True):
        for statement in statements(read.passage.text):
            if all(item.reads(*span) for span in statement.slices):
                yield item.passage, statement


def _answers(chosen: Sequence[Ranked]) -> bool:
    """Whether one of the statements answers the question; true if none was judged."""
    return bool(chosen) and (chosen[0].answers is None or chosen[0].score >= EVEN)


def _surest(chosen: Sequence[Ranked]) -> float | None:
    """The probability that the best statement answers; `None` if none was judged, or if the answer
    is the difference between versions, which no single statement gives."""
    judged = [entry.answers for entry in chosen if entry.answers is not None]
    return max(judged) if judged and not _compared(chosen) else None


def _judged(entry: Ranked, alone: SufficiencyScore) -> Ranked:
    if alone.unchecked:
        return entry
    return replace(entry, score=alone.enough, answers=alone.enough)


def ranked_blocks(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The blocks around the statements, each with the score of its best one, best first. A
    statement stands alone if others of its block may not be quoted."""
    usable: dict[str, set[Statement]] = {}
    for entry in ranked:
        usable.setdefault(entry.passage.id, set()).add(entry.statement)
    whole: dict[str, list[Block]] = {}
    found: dict[tuple[str, tuple[Span, ...]], Ranked] = {}
    for entry in ranked:
        passage = entry.passage
        if passage.id not in whole:
            own = usable[passage.id]
            whole[passage.id] = [
                block
                for block in quotable(passage.text)
                if all(one in own for one in statements(passage.text) if block.covers(one))
            ]
        block = next((one for one in whole[passage.id] if one.covers(entry.statement)), None)
        if block is not None:
            quoted = Statement(block.slices, block.wording(passage.text))
            entry = replace(entry, statement=quoted, headings=block.headings)
        found.setdefault((passage.id, entry.statement.slices), entry)
    return list(found.values())


def answering(
    verifier: object, question: str, found: Sequence[tuple[Passage, Statement]]
) -> list[float]:
    """The probability that each statement, with its headings, answers the question; empty if the
    verifier cannot score sentences."""
    texts: list[str] = []
    places: list[int] = []
    above = ""
    for passage, statement in found:
        heading = context(passage.title, passage.heading)
        if heading != above:
            texts.append(heading)
            above = heading
        places.append(len(texts))
        texts.append(statement.wording)
    scores = sentence_scores(verifier, question, texts)
    return [scores[place] for place in places] if scores else []


@rule("other versions", lambda ranked, chosen: [])
def _other_versions(ranked: Sequence[Ranked], chosen: Sequence[Ranked]) -> list[Ranked]:
    """The best statement of each version of a quoted document that is not quoted yet. If several
    versions are in the evidence, the answer is how they differ."""
    families = {entry.passage.family for entry in chosen if entry.passage.family}
    quoted = {(entry.passage.family, entry.passage.version) for entry in chosen}
    more = []
    for entry in ranked:
        own = (entry.passage.family, entry.passage.version)
        if entry.passage.family in families and own not in quoted:
            quoted.add(own)
            more.append(entry)
    return more


def _compared(chosen: Sequence[Ranked]) -> bool:
    """Whether several versions of one document are quoted."""
    versions = {(entry.passage.family, entry.passage.version) for entry in chosen}
    families = [family for family, _ in versions if family]
    return len(families) > len(set(families))


def _changed(found: list[tuple[Passage, Statement]]) -> list[tuple[Passage, Statement]]:
    """Drop statements that several versions of one document share: only differences matter when
    versions are compared."""
    versions: dict[tuple[str, str], set[str]] = {}
    for passage, statement in found:
        versions.setdefault((passage.family, statement.wording), set()).add(passage.version)
    kept = [(p, s) for p, s in found if not p.family or len(versions[p.family, s.wording]) == 1]
    return kept or found


def _is_within(entry: Ranked, other: Ranked) -> bool:
    """Whether the words of `entry` occur in `other`, in order."""
    mine, theirs = (
        f" {' '.join(_WORD.findall(readable(' '.join(one.quotes)).lower()))} "
        for one in (entry, other)
    )
    return mine in theirs
