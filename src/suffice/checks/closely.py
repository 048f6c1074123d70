"""Verifies an unbacked claim again, against only the few statements nearest to it.

A verifier easily overlooks a single statement among many, especially a table row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from suffice.deadline import watched
from suffice.evidence.split import context
from suffice.models.llm.verifier import LlmVerifier
from suffice.models.odds import mean_odds
from suffice.models.verifier import FindsSentences, Pair, SupportScore, Verifier
from suffice.switch import rule
from suffice.text.sentences import Span
from suffice.text.statements import Statement, statements
from suffice.types import Passage

FEW = (1, 3)
"""How many statements to verify against. The log-odds of the results are averaged."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The statements most likely to back a text, best first."""

    found: tuple[tuple[Passage, Statement], ...]

    @property
    def passage(self) -> Passage:
        return self.found[0][0]

    @property
    def span(self) -> Span:
        return self.found[0][1].slices[-1]

    def beside(self, count: int) -> str:
        """The best `count` statements under their headings, in document order."""
        order = list(dict.fromkeys(passage.id for passage, _ in self.found))
        chosen = sorted(self.found[:count], key=lambda one: (order.index(one[0].id), one[1].slices))
        lines: list[str] = []
        last = ""
        for passage, statement in chosen:
            above = context(passage.title, passage.heading)
            lines += [above] if above != last else []
            last = above
            lines.append("\n".join(passage.text[slice(*span)] for span in statement.slices))
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Second:
    """The score of the second verification, and the position of the nearest statement."""

    score: SupportScore
    passage: Passage
    span: Span


def nearest(verifier: FindsSentences, text: str, passages: Sequence[Passage]) -> Nearest | None:
    every = [(passage, one) for passage in passages for one in statements(passage.text)]
    if not every:
        return None
    scores = verifier.sentences(text, [one.wording for _, one in every])
    ranked = sorted(range(len(every)), key=lambda n: -scores[n]) if scores else []
    return Nearest(tuple(every[n] for n in ranked[: max(FEW)])) if ranked else None


@rule("closer reading", lambda verifier, pairs, passages: [None] * len(pairs))
def read_closely(
    verifier: Verifier, pairs: Sequence[Pair], passages: Sequence[Sequence[Passage]]
) -> list[Second | None]:
    """The second score of each pair. `None` if the verifier cannot rank statements, or is an LLM,
    whose first judgement is final."""
    if isinstance(verifier, LlmVerifier) or not isinstance(verifier, FindsSentences):
        return [None] * len(pairs)
    each = watched(zip(pairs, passages, strict=True))
    near = [nearest(verifier, pair.text, own) for pair, own in each]
    asked = [
        replace(pair, evidence=(one.beside(count),))
        for pair, one in zip(pairs, near, strict=True)
        if one
        for count in FEW
    ]
    scores = iter(verifier.support(asked) if asked else ())
    return [_second(one, [next(scores) for _ in FEW]) if one else None for one in near]


def _second(near: Nearest, scores: Sequence[SupportScore]) -> Second | None:
    if any(one.unchecked for one in scores):
        return None
    likely = mean_odds([one.supported for one in scores])
    score = SupportScore(likely, 0.0, 1 - likely, tier=scores[0].tier)
    return Second(score, near.passage, near.span)
