"""Claims in the words of a source sentence that say something else: where a small verifier is weak,
rules look at what turns the sense around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from suffice.checks.aligned import Sentence, Sentences, roots
from suffice.checks.said import alone, cited
from suffice.text.facts.clauses import subject
from suffice.text.language import unknown_language
from suffice.text.senses import MEASURING, Turn, Words, opposed, turned_around
from suffice.types import Claim, Code, Draft, Evidence, Finding, Hallucination, Passage, Support

_ALIGNED = 0.8
"""A claim is in the words of a sentence that holds so much of them…"""
_WORDS = 2
"""…where it has at least so many."""
_LONGEST = 600
_MEASURES = roots(" ".join(MEASURING))


@dataclass(frozen=True, slots=True)
class Contrary:
    """Speaks against a claim whose words are those of one source sentence while a negation, an
    opposite, a quantity word or the order of its parts makes them say something else. It backs
    nothing: what it does not object to may still be wrong."""

    name: str = "contrary"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        source = Sentences.of(evidence.passages, led=True)
        read = zip(draft.claims, alone(draft), cited(draft, evidence), strict=True)
        return [self._judge(claim, said, source, within) for claim, said, within in read]

    def _judge(
        self, claim: Claim, said: str, source: Sentences, within: Sequence[Passage]
    ) -> Finding:
        words = roots(said)
        sentence = source.nearest(words, within) if len(words) >= _WORDS else None
        if sentence is None or len(said) > _LONGEST or len(sentence.text) > _LONGEST:
            return self._open(claim)
        turn = _turn(said, words, sentence) or _neighbour(said, words, sentence, source)
        if turn is None or unknown_language(said):
            return self._open(claim)
        return Finding(
            claim,
            self.name,
            Support.CONTRADICTED if turn.contrary else Support.UNBACKED,
            None,
            sentence.passage.id,
            (sentence.start, sentence.end),
            turn.reason,
            Code.CONTRARY,
            Hallucination.FAITHFULNESS,
        )

    def _open(self, claim: Claim) -> Finding:
        reason = "nothing turns the words of its source around"
        return Finding(claim, self.name, Support.UNCHECKED, reason=reason, code=Code.CLEAR)


def _turn(said: str, words: frozenset[str], sentence: Sentence) -> Turn | None:
    if "|" in sentence.text:
        return None
    source = Words.of(sentence.whole, _root)
    words = words - _MEASURES
    shared = words - opposed(words - sentence.roots, source, _root)
    if len(shared & sentence.roots) < _ALIGNED * len(shared):
        return None
    return turned_around(Words.of(said, _root), source)


def _neighbour(
    said: str, words: frozenset[str], sentence: Sentence, source: Sentences
) -> Turn | None:
    """What one sentence says of its subject, said of the subject of one beside it that is built
    alike: "Managers approve travel. Directors approve hiring." """
    mine = roots(subject(said))
    told = words - mine
    near = [sentence, *source.beside(sentence)]
    if not mine or len(told) < 2 or any(words <= one.roots for one in near):
        return None
    of_mine = [one for one in near if mine <= roots(subject(one.text)) and told & one.roots]
    for one in near:
        theirs = roots(subject(one.text))
        if of_mine and theirs and told <= one.roots and not (mine & one.roots or theirs & words):
            return Turn(f"it is said of “{subject(one.text)}” in the source", contrary=False)
    return None


@lru_cache(maxsize=16_384)
def _root(word: str) -> str:
    return "" if word in MEASURING or word in _POINTING else next(iter(roots(word)), "")


_POINTING = frozenset(("following", "follows", "below"))
