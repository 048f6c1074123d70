"""The texts that checks compare: self-contained claims, and passages with their metadata."""

from __future__ import annotations

import re
from itertools import zip_longest

from suffice.text.claims import Statement, StatementKind, claims
from suffice.text.marks import bare
from suffice.text.words import unmasked
from suffice.types import Draft, Evidence, Passage

_WORD = re.compile(r"\w+")
_ONLY_YES_OR_NO = re.compile(r"(?:yes|no)\W*", re.IGNORECASE)


def gaps(text: str) -> tuple[Statement, ...]:
    """The sentences of a draft that say what the documents leave open. They need no citation and no
    support."""
    return tuple(one for one in claims(text) if one.kind is StatementKind.REFUSAL)


def without_gaps(text: str) -> str:
    """What a draft says of the question: its text without the sentences about what is left open."""
    for one in reversed(gaps(text)):
        text = f"{text[: one.start]}{text[one.end :]}"
    return bare(text)


def alone(draft: Draft) -> list[str]:
    """Each claim as self-contained text: without citations, table rows with their headers, "Yes."
    with the next sentence, and look-alike letters replaced."""
    read = {(one.start, one.end): one for one in claims(draft.text)}
    known = [read.get((claim.start, claim.end)) for claim in draft.claims]
    texts = [
        unmasked(one.alone if one else bare(claim.text))
        for one, claim in zip(known, draft.claims, strict=True)
    ]
    # "No." means nothing on its own, so it is judged together with the next sentence.
    return [
        f"{one} {after}" if _ONLY_YES_OR_NO.fullmatch(one) and after else one
        for one, after in zip_longest(texts, texts[1:], fillvalue="")
    ]


def different(draft: Draft) -> int:
    """The number of different claims, also counting those that were trimmed. Citations, case and
    punctuation make no difference."""
    words = {" ".join(_WORD.findall(bare(claim.text).casefold())) for claim in draft.claims}
    return max(len(words), draft.claimed)


def numbered(draft: Draft, evidence: Evidence) -> dict[int, Passage]:
    """The passages by citation number, as numbered by the draft or, if it lists no citations, in
    retrieval order."""
    if draft.citations:
        return {one.n: one.passage for one in draft.citations}
    return dict(enumerate(evidence.sources, 1))


def cited_passages(draft: Draft, evidence: Evidence) -> list[tuple[Passage, ...]]:
    """The retrieved passages that each claim cites."""
    retrieved = {passage.id: passage for passage in evidence.passages}
    marks = numbered(draft, evidence)
    marked = {n: retrieved[one.id] for n, one in marks.items() if one.id in retrieved}
    return [tuple(marked[n] for n in claim.cites if n in marked) for claim in draft.claims]


def with_metadata(passage: Passage) -> str:
    """A passage followed by the title, version and dates of its document, which are evidence too.
    `with_metadata(passage)[: len(passage.text)] == passage.text`."""
    about = [f"{passage.title or passage.document}."]
    if passage.declared:
        about.append(f"Version {passage.declared}.")
    if since := passage.effective or passage.since:
        about.append(f"Effective, updated, published and in force since {since.isoformat()}.")
    if passage.expires:
        about.append(f"Expires on {passage.expires.isoformat()}.")
    about += [f"{heading}." for heading in passage.heading]
    if passage.page is not None:
        about.append(f"Page {passage.page}.")
    return "\n\n".join((passage.text, *about))


def readable_text(passage: Passage) -> str:
    """The passage as a verifier reads it: with the metadata of its document, if any."""
    known = passage.title or passage.declared or passage.effective or passage.expires
    return with_metadata(passage) if known else passage.text
