"""Decides which judgements of the LLM count: only those that its quotes prove.

A positive judgement does not count if its quote occurs in no passage, or if the quoted passage, the
claim or the question tries to influence the judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suffice.models.llm.quotes import place_of
from suffice.models.llm.replies import Assessment, Ruling, Verdict, shown_missing
from suffice.models.verifier import Pair
from suffice.text.nonclaims import only_declines
from suffice.text.steering import steers

_UNPROVED = "its quote is not in the passages"


@dataclass(frozen=True, slots=True)
class Word:
    """A valid judgement on a claim, never `unsure`. `passage` is an index into the evidence, of the
    first passage that is quoted; `None` for what the passages do not say."""

    verdict: Verdict
    passage: int | None = None
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Enough:
    """A valid judgement on whether passages are enough."""

    enough: bool
    passage: int | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoWord:
    """The reason why a reply holds no valid judgement."""

    why: str


def support_word(ruling: Ruling, pair: Pair, places: Mapping[int, int]) -> Word | NoWord:
    """Verify a ruling. `places` maps passage numbers to positions in the evidence."""
    if ruling.verdict is Verdict.UNSURE:
        return NoWord("it is not sure either")
    if ruling.verdict is Verdict.NOT_MENTIONED:
        return Word(ruling.verdict)
    supported = ruling.verdict is Verdict.SUPPORTED
    if supported and not ruling.quotes and only_declines(pair.text) and not steers(pair.text):
        return Word(ruling.verdict)  # nothing can be quoted for what the passages do not say
    found = [place_of(one.quote, pair.evidence, places.get(one.passage)) for one in ruling.quotes]
    proved = [place for place in found if place is not None]
    if not proved or len(proved) < len(found):
        return NoWord(_UNPROVED)
    if supported and (who := next(filter(None, (_steered(pair, one) for one in proved)), "")):
        return NoWord(f"{who} tries to influence the verdict")
    return Word(ruling.verdict, proved[0], ruling.quotes[0].quote)


def enough_word(assessment: Assessment, pair: Pair) -> Enough | NoWord:
    """Verify an assessment."""
    if not assessment.enough:
        return Enough(False, missing=shown_missing(assessment.missing))
    if assessment.missing:
        return NoWord("it reports both that the passages are enough and that something is missing")
    found = (place_of(one.quote, pair.evidence, one.passage - 1) for one in assessment.quotes)
    places = [place for place in found if place is not None]
    if not places:
        return NoWord(_UNPROVED)
    steered = [_steered(pair, place) for place in places]
    if all(steered):
        return NoWord(f"{steered[0]} tries to influence the verdict")
    return Enough(True, places[steered.index("")])


def _steered(pair: Pair, place: int) -> str:
    """Which text tries to influence the judge; empty if none does."""
    texts = {
        "what is judged": pair.text,
        "the question": pair.question,
        "the passage it quotes": pair.evidence[place],
    }
    return next((name for name, text in texts.items() if steers(text)), "")
