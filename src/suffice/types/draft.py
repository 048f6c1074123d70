"""What a drafter wrote: text, claims and citations."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.types.evidence import Passage


@dataclass(frozen=True, slots=True)
class Citation:
    """One numbered source of an answer: `n` appears as `[n]` in the text."""

    n: int
    passage: Passage
    quote: str


@dataclass(frozen=True, slots=True)
class Claim:
    """One checkable statement of a draft: `draft.text[start:end] == text`."""

    text: str
    start: int
    end: int
    cites: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """The output of a drafter, untrusted until checked. An empty text means that it declined."""

    text: str
    claims: tuple[Claim, ...] = ()
    citations: tuple[Citation, ...] = ()
    drafter: str = ""
    cut: bool = False
    """Whether the draft was cut off."""
    notes: tuple[str, ...] = ()
    """Notes for the reader: why the draft was cut off, which evidence the drafter did not receive,
    and which passages try to instruct the model."""
    tokens: int = 0
    """The tokens used by prompt and reply together."""
    answers: float | None = None
    """The probability that the quotations answer the question; `None`: not judged."""
    unanswered: tuple[str, ...] = ()
    """The parts of a multi-part question that the drafter could not answer."""
    unread: int = 0
    """The number of characters outside the text that no check reads: those removed because they are
    not shown as text, such as comments, and those of a tool call that state nothing."""
    highlights: tuple[str, ...] = ()
    """Of quoted blocks, the sentences that answer the question, as they stand in the text."""
    claimed: int = 0
    """The number of different claims before the draft was trimmed; 0 if it was not trimmed."""
