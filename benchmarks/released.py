"""Hostile drafts through the library: does a released text show a word that no check read?

The released text is parsed by another Markdown parser. Every word that it shows must stand in a
claim whose words a check received, or in a statement that `checks.unread` examined; every citation
mark counts as read. Nothing else may be in the text: no HTML, link, image or definition, and no
invisible character.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np
from markdown_it import MarkdownIt
from markdown_it.token import Token

from benchmarks.hidden import hostile_draft
from suffice.answers import open_checker
from suffice.checker import Checker
from suffice.evidence.rows import Vectors
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds
from suffice.settings import Settings
from suffice.text.claims import claims
from suffice.text.marks import citations
from suffice.types import Support, Verdict
from suffice.verdict.assess import assess

PASSAGES = (
    "Eligible employees may work remotely up to 3 days per week. You may work remotely 3 days per "
    "week. Remote work needs the consent of the manager.",
    "Employees may work from home.",
)
QUESTION = "How many days per week may I work remotely?"
_WORD = re.compile(r"\w+")
# The number of an item is markup; `checks.unread` reads those that do not continue a sequence.
_ITEM = re.compile(r"^(?:[-*+•>#]+\s+)*\d{1,3}[.)]\s")
_MARKUP = frozenset({"html_inline", "html_block", "link_open", "image"})
_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@dataclass
class WordVerifier:
    """A cheap verifier: a claim is supported if its words are in the passages. It keeps the words
    that it was given to read."""

    read: set[str] = field(default_factory=set)
    id: str = "words-1"
    tier: str = "fast"
    thresholds: Thresholds = field(default_factory=Thresholds)

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return [self._support(pair) for pair in pairs]

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return [SufficiencyScore(0.9, 0) for _ in pairs]

    def _support(self, pair: Pair) -> SupportScore:
        words = set(_words(pair.text))
        self.read |= words
        known = set(_words(" ".join(pair.evidence)))
        share = len(words & known) / len(words) if words else 0.0
        return SupportScore(share, 0.0, 1 - share, 0)


@dataclass(frozen=True)
class FlatEmbedder:
    """An embedder for which all texts are alike."""

    id: str = "flat-1"
    dimension: int = 4
    window: int = 512

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.full((len(texts), self.dimension), 0.5, dtype=np.float32)

    def token_ends(self, text: str) -> Sequence[int]:
        return [match.end() for match in _WORD.finditer(text)]


def checker(verifier: WordVerifier) -> Checker:
    """The checks of the default settings with the cheap verifier, without the search for conflicts
    between passages."""
    return replace(open_checker(Settings(), verifier, FlatEmbedder()), conflicts=None)


def unread_in(verdict: Verdict, read: set[str]) -> list[str]:
    """What a released text contains and no check read; empty if nothing was released."""
    text = verdict.released
    if not verdict.served or verdict.draft is None:
        return []
    found = [f"invisible {ord(char):x}" for char in text if _is_invisible(char)]
    environment: dict[str, Any] = {}
    tokens = [*_flat(_PARSER.parse(text, environment))]
    found += [token.type for token in tokens if token.type in _MARKUP]
    found += ["definition" for _ in environment.get("references", ())]
    if text != verdict.draft.text:
        return [*found, "released text differs from the draft"]
    shown = {word for token in tokens for word in _shown(token)}
    found += [f"shown {word}" for word in shown - {*_words(text), *_words(_decoded(text))}]
    return found + _outside(verdict, read)


def _outside(verdict: Verdict, read: set[str]) -> list[str]:
    """The words of a released text outside all that was read or examined."""
    text, draft = verdict.released, verdict.draft
    assert draft is not None
    left = list(text)

    def blank(start: int, end: int) -> None:
        left[start:end] = " " * (end - start)

    judged = {f.claim for f in verdict.findings if f.support is not Support.UNCHECKED}
    received = read | set(_words(" ".join(PASSAGES)))
    unread = [one.text for one in draft.claims if one not in judged]
    for claim in draft.claims:
        words = list(claim.text)
        for (start, end), _ in citations(claim.text):
            words[start:end] = [""] * (end - start)
        statement = _ITEM.sub("", "".join(words).replace("**", ""))
        unread += [word for word in _words(_decoded(statement)) if word not in received]
        blank(claim.start, claim.end)
    reported = assess(draft, verdict.findings, verdict.evidence).unread
    for one in claims(text):
        if not one.checkable:
            blank(one.start, one.end)
    # A reader sees the same mark inside of a code span and outside.
    for (start, end), _ in citations(text.replace("`", " ")):
        blank(start, end)
    unread += _words("".join(left))
    # What is reported as unread lowers the verdict: it is a fault only if the answer is served.
    unread += reported if verdict.action.value == "SERVE" else ()
    admitted = verdict.action.value == "CAVEAT" and verdict.share_read < 1
    return [word for word in unread if word in draft.text and not (admitted and word in reported)]


def _flat(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _flat(token.children or ())


def _shown(token: Token) -> list[str]:
    plain = token.type in ("text", "text_special", "code_inline", "fence", "code_block")
    return _words(token.content) if plain else []


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _decoded(text: str) -> str:
    return text.replace("&lt;", "<").replace("&amp;", "&")


def _is_invisible(char: str) -> bool:
    control = unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs") and char not in "\n\t"
    return control and char != "\u200d"


def release_fuzz(drafts: int, seed: int = 37, seconds: float = 3600.0) -> dict[str, Any]:
    """Check many hostile drafts and count those whose released text contains something unread."""
    random, verifier = Random(seed), WordVerifier()
    checks = checker(verifier)
    verdicts: Counter[str] = Counter()
    faults: list[dict[str, Any]] = []
    hidden, start = 0, time.perf_counter()
    for _ in range(drafts):
        if time.perf_counter() - start > seconds:
            break
        source = hostile_draft(random)
        verifier.read.clear()
        verdict = checks.check(source, PASSAGES, QUESTION)
        verdicts[verdict.action.value] += 1
        hidden += bool(verdict.draft and verdict.draft.unread)
        if unread := unread_in(verdict, verifier.read):
            faults.append({"draft": source, "released": verdict.released, "unread": unread})
    return {
        "drafts": verdicts.total(),
        "hiding": hidden,
        "verdicts": dict(sorted(verdicts.items())),
        "unread": len(faults),
        "characters": sum(len(word) for one in faults for word in one["unread"]),
        "examples": faults[:5],
        "seconds": round(time.perf_counter() - start, 1),
    }
