"""Passages, and the evidence for one question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

_DIGEST = re.compile(r"[0-9a-f]{8}")
Readings = Mapping[int, float | None]
"""What a verifier said of passages, by their numbers in the index (`Retrieved.answers`)."""
CARRIED, INDEXED = "carried", "indexed"


class Kind(StrEnum):
    """The kind of text in a document."""

    FACT = "fact"
    QA = "qa"
    PROCEDURE = "procedure"
    DISCUSSION = "discussion"


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document version. `source[start:end] == text` for the source text as stored.

    The id encodes document, version and position; the same file always gives the same ids. The
    passage is in force from `since` (`None`: always) until the day before `until`, when it expires,
    is superseded or retired (`None`: not known). Versions of one document share a `family` (empty
    if only document and title identify them). The coverage policy uses `summary` and `temperature`
    (a source's own measure of how much it is used) if the retriever supplies them.
    """

    id: str
    text: str
    document: str
    version: str = ""
    title: str = ""
    kind: Kind = Kind.FACT
    heading: tuple[str, ...] = ()
    start: int = 0
    end: int = 0
    page: int | None = None
    content_hash: str = ""
    effective: date | None = None
    expires: date | None = None
    since: date | None = None
    until: date | None = None
    collection: str = "default"
    access: frozenset[str] = frozenset()
    summary: str = ""
    temperature: float | None = None
    family: str = ""
    carried: bool = False
    """Whether a caller supplied the passage, as text or in a request; `False`: a search found it.
    The document, title and version of a carried passage are the caller's words."""

    @property
    def name(self) -> str:
        """What a reader calls the passage: its title, its document or, without both, its id."""
        return self.title or self.document or self.id

    @property
    def origin(self) -> str:
        """Where the passage comes from: `carried` or `indexed`."""
        return CARRIED if self.carried else INDEXED

    @property
    def edition(self) -> tuple[bool, str, str]:
        """Identifies the version of a document. A carried passage never shares it with an indexed
        one, even if their document and version have the same names."""
        return self.carried, self.document, self.version

    def holds(self, other: Passage) -> bool:
        """Whether the other passage is a part of this one."""
        same = (self.collection, *self.edition) == (other.collection, *other.edition)
        within = self.start <= other.start < other.end <= self.end
        return self.id == other.id or (same and within)

    @property
    def declared(self) -> str:
        """The version that the document declares; empty if the store assigned a digest, which means
        nothing to a reader."""
        made_up = _DIGEST.fullmatch(self.version) and f"@{self.version}#" in self.id
        return "" if made_up else self.version

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings without table headers."""
        return tuple(part for part in self.heading if not part.startswith("|"))

    @property
    def place(self) -> str:
        """The position in the document: "Leave > Parental, page 3"."""
        parts = [" > ".join(self.headings)] if self.headings else []
        if self.page is not None:
            parts.append(f"page {self.page}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A passage found for a question, with its raw scores.

    `relevance` is the cosine similarity to the question (`None` without vectors), `keywords` the
    BM25 score, `score` the fusion of both. No score is normalised across results.
    """

    passage: Passage
    relevance: float | None
    keywords: float = 0.0
    score: float = 0.0
    kept: tuple[tuple[int, int], ...] | None = None
    """The spans of the text that a drafter reads, in order and disjoint; `None`: all of it.
    Checks and citations use the whole passage."""
    answers: float | None = None
    """The log-odds that the passage answers the question, by the verifier that ordered the search
    (`Evidence.read_by`); `None` if it was not read. Of joined passages, those of the best."""
    number: int = 0
    """The number of the best of the joined passages in the index; 0 without an index."""

    @property
    def reading(self) -> str:
        """The text that a drafter reads."""
        if self.kept is None:
            return self.passage.text
        return "\n".join(self.passage.text[start:end] for start, end in self.kept)

    def reads(self, start: int, end: int) -> bool:
        """Whether a drafter reads this span of the text."""
        return self.kept is None or any(a <= start and end <= b for a, b in self.kept)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The passages retrieved for one question, best first."""

    question: str
    items: tuple[Retrieved, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes about the search for the reader, for example that the embedder was unreachable."""
    day: date | None = None
    """The date on which the passages must be in force; `None`: today."""
    then: bool = False
    """Whether the question asks about another time, so that passages no longer in force are
    allowed."""
    timeless: str = ""
    """The question without its words about time, if the passages are versions from that time. An
    old policy does not contain the word "previous"."""
    subject: str = ""
    """What the documents are about, if the question does not name it: "Frigate"."""
    earlier: int = 0
    """Number of trailing items that are earlier answers; citations never refer to them."""
    read_by: str = ""
    """The verifier that has read the items for this question; empty if none has."""
    readings: Readings = field(default_factory=dict, compare=False, repr=False)
    """All that it said, also of passages that are not among the items."""

    def __iter__(self) -> Iterator[Retrieved]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(item.passage for item in self.items)

    @property
    def wanted(self) -> str:
        """The question in the form that passages can answer."""
        return self.timeless or self.question

    def in_context(self, question: str) -> str:
        """A question as search and verifier read it: with the subject of the documents."""
        return f"{self.subject}: {question}" if self.subject else question

    @property
    def sources(self) -> tuple[Passage, ...]:
        """The passages that citation numbers refer to, in order."""
        return self.passages[: len(self.items) - self.earlier]

    @property
    def removed(self) -> float:
        """The share of the passages' characters that is filtered out for drafters."""
        total = sum(len(item.passage.text) for item in self.items)
        cut = (item for item in self.items if item.kept is not None)
        left_out = sum(
            len(item.passage.text) - sum(end - start for start, end in item.kept or ())
            for item in cut
        )
        return left_out / total if total else 0.0
