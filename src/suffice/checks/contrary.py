"""Claims in the words of a source sentence that say something else: where a small verifier is weak,
rules look at what turns the sense around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suffice.checks.aligned import Sentence, Sentences, roots
from suffice.checks.clauses import Clauses, root_of
from suffice.checks.said import alone, cited
from suffice.text.language import unknown_language
from suffice.text.senses import MEASURING, Turn, Words, opposed, turned_around
from suffice.types import Claim, Code, Draft, Evidence, Finding, Hallucination, Passage, Support

_ALIGNED = 0.8
"""A claim is in the words of a sentence that holds so much of them…"""
_WORDS = 2
"""…where it has at least so many."""
_LONGEST = 600
_NEAR = 8
"""So many sentences are looked at for what a claim puts together from several."""
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
        near = source.near(words, within, _NEAR) if len(words) >= _WORDS else []
        if not near or len(said) > _LONGEST or len(near[0].text) > _LONGEST:
            return self._open(claim)
        sentence = near[0]
        turn = _turn(said, words, sentence)
        if turn is None:
            around = dict.fromkeys((*near, *source.beside(sentence)))
            found = Clauses.of_claim(
                said, [one for one in around if len(one.text) <= _LONGEST]
            ).turn()
            turn, sentence = found or (None, sentence)
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
    source = Words.of(sentence.whole, root_of)
    words = words - _MEASURES
    shared = words - opposed(words - sentence.roots, source, root_of)
    if len(shared & sentence.roots) < _ALIGNED * len(shared):
        return None
    return turned_around(Words.of(said, root_of), source)
