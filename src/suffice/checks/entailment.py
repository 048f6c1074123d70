"""The verifier's word: does what a claim cites say so, say otherwise, or not speak of it?"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from suffice.checks.aligned import Sentence, Sentences, roots, turned
from suffice.checks.said import alone, cited, told
from suffice.models.verifier import LLM, Pair, SupportScore, Verifier
from suffice.settings import EntailmentSettings
from suffice.text.facts import facts
from suffice.text.senses import denied_form
from suffice.types import (
    Claim,
    Code,
    Draft,
    Evidence,
    Fact,
    Finding,
    Hallucination,
    Passage,
    Support,
)

_WORD = re.compile(r"[^\W\d_]+")
# A fact torn out of a sentence that is backed reads worse than it did there.
_FRAGMENT = 0.2
# So much more another passage must say a claim than the one it cites, to be the right one.
_SURER = 0.2
_TURNED = "its source has the same names in another order, and the verifier is not sure"
_DENIED = "its source has a word of it in the form that denies it, and the verifier is not sure"
_UNSURE = "its words are there, but the verifier is not sure that they say so"
_LEFT_ALONE = "another check has settled it"
_SAID = {
    Support.BACKED: "what it cites says so",
    Support.CONTRADICTED: "what it cites says otherwise",
    Support.UNBACKED: "nothing it cites says so",
}


@dataclass(frozen=True, slots=True)
class _Reading:
    """A claim as it is judged: how it reads alone, its facts, and the passages it is held to."""

    claim: Claim
    said: str
    facts: tuple[str, ...]
    passages: tuple[Passage, ...]

    def held(self, said: str, known: _Words) -> float:
        """The share of the words of what is said that stand in the passages or the question."""
        words = roots(said)
        there = sum(known.hold(root, self.passages) for root in words)
        return there / len(words) if words else 0.0


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of the question, which need not be found, and of each passage, read once."""

    asked: frozenset[str]
    passages: dict[str, frozenset[str]]
    written: dict[str, frozenset[str]]
    """Those of the passages as they are written."""

    @classmethod
    def of(cls, evidence: Evidence) -> _Words:
        texts = {passage.id: _text(passage) for passage in evidence.passages}
        words = {name: roots(text) for name, text in texts.items()}
        written = {name: frozenset(_low(text)) for name, text in texts.items()}
        return cls(roots(evidence.question), words, written)

    def hold(self, root: str, passages: Sequence[Passage]) -> bool:
        return root in self.asked or any(root in self.passages[one.id] for one in passages)

    def deny(self, said: str, passages: Sequence[Passage]) -> bool:
        """Whether a word of what is said stands in the passages only in the form that denies it."""
        there = frozenset().union(*(self.written[one.id] for one in passages))
        return bool(denied_form(_low(said), there))


@dataclass(frozen=True, slots=True)
class Entailment:
    """Judges each claim against the passages it cites (all, where it cites none), and each of its
    facts by itself where it has several. What only another passage says is backed by that one: the
    citation is wrong, not the claim."""

    verifier: Verifier
    settings: EntailmentSettings = field(default_factory=EntailmentSettings)
    claims: frozenset[Claim] | None = None
    """Those still open; the others are left alone. `None`: all."""
    name: str = "entailment"

    def only(self, claims: Collection[Claim]) -> Entailment:
        asked = frozenset(claims) if self.claims is None else self.claims.intersection(claims)
        return replace(self, claims=asked)

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        read = [one for one in _readings(draft, evidence) if self._asked(one.claim)]
        found = self._judged(read, draft, evidence)
        elsewhere = [
            replace(one, passages=evidence.passages)
            for one in read
            if _open(found[one.claim]) and len(one.passages) < len(evidence)
        ]
        for claim, second in self._judged(elsewhere, draft, evidence).items():
            surer = (second.score or 0.0) >= (found[claim].score or 0.0) + _SURER
            if second.support is Support.BACKED and surer:
                found[claim] = second
        left = (
            Finding(claim, self.name, Support.UNCHECKED, reason=_LEFT_ALONE)
            for claim in draft.claims
        )
        return [found.get(one.claim, one) for one in left]

    def _asked(self, claim: Claim) -> bool:
        return self.claims is None or claim in self.claims

    def _judged(
        self, read: Sequence[_Reading], draft: Draft, evidence: Evidence
    ) -> dict[Claim, Finding]:
        """One call of the verifier for the claims and all their facts."""
        pairs = [
            Pair(said, tuple(map(_text, one.passages)), evidence.question, draft.text)
            for one in read
            for said in (one.said, *one.facts)
        ]
        scores = iter(self.verifier.support(pairs) if pairs else ())
        if not read:
            return {}
        sentences, known = Sentences.of(evidence.passages), _Words.of(evidence)
        found = {}
        for one in read:
            whole = next(scores)
            finding = self._finding(one, whole, sentences, known)
            ease = _FRAGMENT if finding.support is Support.BACKED else 0.0
            parts = tuple(
                Fact(text, self._support(next(scores), one.held(text, known) + ease))
                for text in one.facts
            )
            reason = f"{finding.reason}. {whole.note}" if whole.note else finding.reason
            found[one.claim] = replace(finding, facts=parts, reason=reason)
        return found

    def _finding(
        self, one: _Reading, score: SupportScore, sentences: Sentences, known: _Words
    ) -> Finding:
        if score.unchecked:
            return Finding(one.claim, self.name, Support.UNCHECKED, reason=score.unchecked)
        if score.tier == LLM:
            return self._told(one, score, sentences)
        held = one.held(one.said, known)
        support = self._support(score, held)
        passage = one.passages[score.passage or 0] if one.passages else None
        nearest = sentences.nearest(roots(one.said), (passage,)) if passage else None
        doubtful = support is Support.BACKED and score.supported < self.settings.sure
        if doubtful and nearest and turned(one.said, nearest.text):
            return self._unsure(one.claim, score, _TURNED, nearest)
        if doubtful and known.deny(one.said, one.passages):
            return self._unsure(one.claim, score, _DENIED, nearest)
        alone = bool(self.settings.threshold)  # then the probability decides by itself
        if support is Support.UNBACKED and held >= self.settings.unsure and not alone:
            return self._unsure(one.claim, score, _UNSURE, nearest)
        return Finding(
            one.claim,
            self.name,
            support,
            score.supported,
            passage.id if passage and support is not Support.UNBACKED else None,
            (nearest.start, nearest.end) if nearest and support is not Support.UNBACKED else None,
            f"{_SAID[support]} ({score.supported:.2f})",
            kind=_KINDS.get(support),
        )

    def _told(self, one: _Reading, score: SupportScore, sentences: Sentences) -> Finding:
        """The LLM has the last word: no rule on words overrules it."""
        support = _last_word(score)
        passage = one.passages[score.passage] if score.passage is not None else None
        quoted = sentences.nearest(roots(score.quote), (passage,)) if passage else None
        return Finding(
            one.claim,
            self.name,
            support,
            score.supported,
            passage.id if passage else None,
            (quoted.start, quoted.end) if quoted else None,
            f"{_SAID[support]}, as the LLM found",
            kind=_KINDS.get(support),
        )

    def _unsure(
        self, claim: Claim, score: SupportScore, why: str, nearest: Sentence | None
    ) -> Finding:
        return Finding(
            claim,
            self.name,
            Support.UNCHECKED,
            score.supported,
            nearest.passage.id if nearest else None,
            (nearest.start, nearest.end) if nearest else None,
            f"{why} ({score.supported:.2f})",
            Code.UNSURE,
        )

    def _support(self, score: SupportScore, held: float) -> Support:
        if score.unchecked:
            return Support.UNCHECKED
        if score.tier == LLM:
            return _last_word(score)
        if self._backed(score, held):
            return Support.BACKED
        against = score.contradicted >= self.settings.contradiction
        return Support.CONTRADICTED if against else Support.UNBACKED

    def _backed(self, score: SupportScore, held: float) -> bool:
        """A small model is unsure where the words are all there, and too sure where they are not:
        the two together tell more than either (see docs/checks.md)."""
        if self.settings.threshold:
            return score.supported >= self.settings.threshold
        sure = score.supported >= self.settings.least
        at_peace = score.contradicted < self.settings.doubt
        return sure and at_peace and score.supported + held >= self.settings.together


_KINDS = {
    Support.CONTRADICTED: Hallucination.FAITHFULNESS,
    Support.UNBACKED: Hallucination.FACTUALITY,
}


def _last_word(score: SupportScore) -> Support:
    """What an LLM found: a verdict, not a probability to weigh."""
    best = max(score.supported, score.contradicted, score.not_mentioned)
    if best == score.not_mentioned:
        return Support.UNBACKED
    return Support.BACKED if best == score.supported else Support.CONTRADICTED


def _open(finding: Finding) -> bool:
    return finding.support is Support.UNBACKED or finding.code is Code.UNSURE


def _readings(draft: Draft, evidence: Evidence) -> list[_Reading]:
    read = zip(draft.claims, alone(draft), cited(draft, evidence), strict=True)
    return [
        _Reading(claim, said, _several(said), sources or evidence.passages)
        for claim, said, sources in read
    ]


def _several(said: str) -> tuple[str, ...]:
    """The facts of a claim that has more than one."""
    found = tuple(fact.text for fact in facts(said))
    return found if len(found) > 1 else ()


def _low(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _text(passage: Passage) -> str:
    """With what is known of its document, where something is."""
    known = passage.title or passage.version or passage.effective or passage.expires
    return told(passage) if known else passage.text
