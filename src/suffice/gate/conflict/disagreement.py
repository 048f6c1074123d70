"""The verifier's judgement of two passages, and the message about their conflict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from suffice.gate.conflict.answers import Reading, Span
from suffice.gate.conflict.candidates import View
from suffice.models.verifier import Pair, SupportScore
from suffice.types import Conflict, Passage

EVEN = 0.5


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verifier's judgement of a pair. `own` is how certainly each statement gives its own
    answer, `apart` how much more certainly than the other's answer (one half means equally), and
    `agreed` how certainly the answer in both passages is right. The defaults are neutral."""

    own: float = 0.0
    apart: float = EVEN
    agreed: float = 0.0
    unchecked: str = "not asked"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two passages, and how certainly they answer differently. If `ambiguous`, they seem to be
    about different things."""

    view: View
    judgement: Judgement
    score: float
    ambiguous: bool


def reported(disagreement: Disagreement, passages: Sequence[Passage]) -> Conflict:
    """The conflict with quotes from both sides."""
    view = disagreement.view
    first, second = passages[view.first], passages[view.second]
    return Conflict(
        first,
        second,
        _quote(first, view.statements[0]),
        _quote(second, view.statements[1]),
        disagreement.score,
        _reason(disagreement, first, second),
        disagreement.ambiguous,
    )


def crossed(view: View, passages: Sequence[Passage]) -> Iterator[tuple[str, Passage]]:
    """Each side's statement with the passage of the other side."""
    first, second = passages[view.first], passages[view.second]
    yield _quote(first, view.statements[0]), second
    yield _quote(second, view.statements[1]), first


def _quote(passage: Passage, span: Span) -> str:
    return passage.text[slice(*span)].strip()


def _reason(disagreement: Disagreement, first: Passage, second: Passage) -> str:
    mine, theirs = (answer.text for answer in disagreement.view.answers)
    reason = f"“{mine}” in {_source(first)} against “{theirs}” in {_source(second)}"
    if disagreement.judgement.unchecked:
        reason += "; found by comparing values only: the verifier did not judge it"
    if disagreement.ambiguous:
        return f"{reason}; they seem to be about different things with the same name"
    if first.document and first.edition[:2] == second.edition[:2]:
        return f"{reason}; these are two versions of the same document"
    return reason


def _source(passage: Passage) -> str:
    """The document with its version and dates, if known."""
    parts = [f"version {passage.declared}"] if passage.declared else []
    if passage.effective:
        parts.append(f"effective {passage.effective.isoformat()}")
    if passage.expires:
        parts.append(f"expires {passage.expires.isoformat()}")
    name = passage.title or passage.document or passage.id
    return f"{name} ({', '.join(parts)})" if parts else name


def pairs_to_judge(view: View, readings: Sequence[Reading], question: str) -> tuple[Pair, ...]:
    """Each answer with its own statement, then with the other's, then the answer that both give."""
    mine, theirs = (one.text for one in view.answers)
    first = readings[view.first]
    here = first.text[slice(*view.statements[0])]
    there = readings[view.second].text[slice(*view.statements[1])]
    pairs = [(mine, here), (theirs, there), (mine, there), (theirs, here)]
    if view.agreed and view.near < 1:
        pairs.append((view.agreed.text, first.text[slice(*first.sentence(view.agreed.start))]))
    return tuple(Pair(answer, (text,), question) for answer, text in pairs)


def judgement_of(pairs: Sequence[Pair], scores: Mapping[Pair, SupportScore]) -> Judgement:
    """The verifier's judgement of two passages, from its scores for those pairs."""
    if not pairs:
        return Judgement()
    found = [scores[pair] for pair in pairs]
    unchecked = next((score.unchecked for score in found if score.unchecked), "")
    if unchecked:
        return Judgement(unchecked=unchecked)
    mine, theirs, mine_there, theirs_here, *agreed = (score.supported for score in found)
    apart = min(_more(mine, theirs_here), _more(theirs, mine_there))
    return Judgement(min(mine, theirs), apart, max(agreed, default=0.0), "")


def _more(own: float, other: float) -> float:
    """The odds of the first score as a share of both odds."""
    ours, theirs = own * (1 - other), other * (1 - own)
    return ours / (ours + theirs) if ours + theirs else EVEN
