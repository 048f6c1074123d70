"""Parses model output into a `Draft`: the text as a reader sees it, claims with exact spans, and
their citations. What is released is the text of a draft, so it is what the checks read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from suffice.text.claims import claims
from suffice.text.released import Rendered, rendered
from suffice.text.storable import replace_unstorable
from suffice.types import Citation, Claim, Conflict, Draft, Finding, Passage


@dataclass(frozen=True, slots=True)
class Brief:
    """Conflicts to disclose and, for a revision, the earlier draft with its findings. `seconds` is
    the time left for the answer (`None`: only the drafter's own limit applies)."""

    conflicts: tuple[Conflict, ...] = ()
    earlier: Draft | None = None
    findings: tuple[Finding, ...] = ()
    seconds: float | None = None


PLAIN = Brief()
"""The brief for a first draft, from evidence without conflicts."""


# Reasoning that some models write before the answer; it is not meant for the reader.
_OPENED = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_CLOSED = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_TAGS = ("<think>", "<thinking>")
THOUGHT = "The model's reasoning before the answer was removed."
HIDDEN = (
    "Removed: {n} characters that are not shown as text, such as comments, attributes and "
    "addresses of links. No check reads them."
)


def read_draft(
    text: str,
    passages: Sequence[Passage],
    *,
    drafter: str = "",
    cut: bool = False,
    notes: Sequence[str] = (),
    tokens: int = 0,
) -> Draft:
    """Parse a text as a draft in which `[n]` cites the n-th passage.

    A number that matches no passage stays in its claim but gets no `Citation`; the citations check
    reports it. An address that was removed counts as hidden unless a passage contains it.
    """
    clean = storable(text)
    thought = thought_aloud(clean)
    shown = rendered("" if thought is None else clean[thought:])
    return draft_of_rendered(
        shown,
        passages,
        drafter=drafter,
        cut=cut,
        notes=notes if thought == 0 else (*notes, THOUGHT),
        tokens=tokens,
    )


def draft_of_rendered(
    shown: Rendered,
    passages: Sequence[Passage],
    *,
    drafter: str = "",
    cut: bool = False,
    notes: Sequence[str] = (),
    tokens: int = 0,
) -> Draft:
    """`read_draft` for a text that is rendered already."""
    answer = shown.text.strip()
    found = claims(answer)
    marks = {n for statement in found for n in statement.cites}
    hidden = sum(len(one) for one in shown.removed if not _known(one, passages))
    return Draft(
        text=answer,
        claims=tuple(Claim(s.text, s.start, s.end, s.cites) for s in found if s.checkable),
        citations=tuple(Citation(n, p, "") for n, p in enumerate(passages, 1) if n in marks),
        drafter=drafter,
        cut=cut,
        notes=(*notes, HIDDEN.format(n=hidden)) if hidden else tuple(notes),
        tokens=tokens,
        unread=hidden,
    )


def as_shown(draft: Draft, passages: Sequence[Passage]) -> Draft:
    """A draft of any drafter with the text that a reader sees. A draft that hides nothing is
    returned unchanged."""
    if rendered(draft.text).text == draft.text:
        return draft
    read = read_draft(draft.text, passages)
    return replace(
        draft,
        text=read.text,
        claims=read.claims,
        citations=draft.citations or read.citations,
        unread=draft.unread + read.unread,
        notes=(*draft.notes, *read.notes),
    )


def _known(removed: str, passages: Sequence[Passage]) -> bool:
    """Whether a passage or the name of its document contains what was removed."""
    words = removed.strip()
    return any(words in text for one in passages for text in (one.text, one.document, one.title))


def thought_aloud(text: str) -> int | None:
    """Where the reasoning at the start of a text ends: 0 if there is none, `None` if it has no
    end."""
    place = 0
    while opened := _OPENED.match(text, place):
        closed = _CLOSED.search(text, opened.end())
        if closed is None:
            return None
        place = closed.end()
    return place


def answer_begins(text: str) -> int | None:
    """Where the answer begins in a text that is still being streamed; `None` if not yet known."""
    thought = thought_aloud(text)
    if thought is None:
        return None
    answer = text[thought:].lstrip()
    if any(tag.startswith(answer.lower()) for tag in _TAGS):
        return None
    return len(text) - len(answer)


def storable(text: str) -> str:
    """The text with lone surrogates and NUL replaced, so that it can be stored and shown."""
    return replace_unstorable(text)
