"""Groups pairs into calls, so that all claims of an answer share one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from suffice.models.llm.prompt import ClaimToJudge, Prompt
from suffice.models.verifier import Pair

MOST_CLAIMS = 32
"""The claim limit of a call. With more claims, the last judgements become unreliable."""


@dataclass(frozen=True, slots=True)
class Case:
    """One call: its prompt, and the pairs (by number) that ask about its claims."""

    prompt: Prompt
    pairs: Mapping[int, int]

    def places(self, pair: Pair) -> dict[int, int]:
        """Maps the passage numbers of the prompt to positions in the pair's evidence."""
        held = {text: place for place, text in reversed(list(enumerate(pair.evidence)))}
        numbered = enumerate(self.prompt.passages, 1)
        return {n: held[text] for n, text in numbered if text in held}


def cases(pairs: Sequence[Pair], asked: Sequence[int]) -> Iterator[Case]:
    """Group the claims. Claims of an answer share a call even if they cite different passages: the
    prompt shows all passages and says which ones apply to each claim. Without an answer, claims
    with the same evidence share a call."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for n in asked:
        pair = pairs[n]
        groups.setdefault((pair.question, pair.answer or pair.evidence), []).append(n)
    for members in groups.values():
        for start in range(0, len(members), MOST_CLAIMS):
            yield _case(pairs, members[start : start + MOST_CLAIMS])


def _case(pairs: Sequence[Pair], members: Sequence[int]) -> Case:
    passages = tuple(dict.fromkeys(text for n in members for text in pairs[n].evidence))
    numbers = {text: number for number, text in enumerate(passages, 1)}
    claims: dict[ClaimToJudge, int] = {}
    places: dict[int, int] = {}
    for n in members:
        only = tuple(sorted({numbers[text] for text in pairs[n].evidence}))
        asked = ClaimToJudge(pairs[n].text, () if len(only) == len(passages) else only)
        places[n] = claims.setdefault(asked, len(claims))
    return Case(Prompt(passages, pairs[members[0]].question, tuple(claims)), places)
