"""Two compared passages, and the wording of a conflict between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suffice.gate.conflict.answers import Span
from suffice.gate.conflict.candidates import View
from suffice.types import Conflict, Passage

EVEN = 0.5


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verifier's judgement of a pair. `own`: each statement gives its own answer; `apart`: how
    much more than the other's (one half: equally); `agreed`: the answer that both passages give is
    the right one. Neutral where it cannot judge."""

    own: float = 0.0
    apart: float = EVEN
    agreed: float = 0.0
    unchecked: str = "not asked"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two passages and how certainly they answer differently. `ambiguous`: about different
    things."""

    view: View
    judgement: Judgement
    score: float
    ambiguous: bool


def reported(disagreement: Disagreement, passages: Sequence[Passage]) -> Conflict:
    """The conflict, with the quotes of both sides."""
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


def _quote(passage: Passage, span: Span) -> str:
    return passage.text[slice(*span)].strip()


def _reason(disagreement: Disagreement, first: Passage, second: Passage) -> str:
    mine, theirs = (answer.text for answer in disagreement.view.answers)
    reason = f"“{mine}” in {_source(first)} against “{theirs}” in {_source(second)}"
    if disagreement.judgement.unchecked:
        reason += "; by literals alone, the verifier did not judge it"
    if disagreement.ambiguous:
        return f"{reason}; they seem to be about different things with the same name"
    if first.document and first.edition[:2] == second.edition[:2]:
        return f"{reason}; these are two versions of one document"
    return reason


def _source(passage: Passage) -> str:
    """The document with its version and dates, as far as they are known."""
    parts = [f"version {passage.declared}"] if passage.declared else []
    if passage.effective:
        parts.append(f"effective {passage.effective.isoformat()}")
    if passage.expires:
        parts.append(f"expires {passage.expires.isoformat()}")
    name = passage.title or passage.document or passage.id
    return f"{name} ({', '.join(parts)})" if parts else name
