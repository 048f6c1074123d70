"""A case as its page shows it: the draft as it was recorded, and what a reviewer said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suffice.access.visibility import Reader
from suffice.errors import StoreError
from suffice.record.decision import decision_of
from suffice.review.actions import Mark
from suffice.review.case import Case
from suffice.review.judged import Judged, Marked, edited
from suffice.review.queue import Order, Wanted
from suffice.review.review import Review
from suffice.server.openai.disclosure import Disclosure
from suffice.server.ui.queue import age, reasons
from suffice.server.ui.verdict_view import VerdictView, view_of
from suffice.types import Action, Verdict

_NEXT = Wanted(order=Order.PRIORITY)


@dataclass(frozen=True, slots=True)
class CaseView:
    """Everything that the page shows of a case. `draft` is the decision as it was recorded, `out`
    whether an answer is released now, `answer` the text that a release would give."""

    case: Case
    draft: VerdictView
    out: bool
    answer: str
    reason: str
    age: str
    why: tuple[str, ...]
    next: str
    marks: Mapping[str, Marked]

    @property
    def judgements(self) -> Mapping[int, Judged]:
        return self.case.judgements

    @property
    def drafted(self) -> str:
        """The text as it was drafted or released."""
        verdict = self.draft.verdict
        return verdict.released or (verdict.draft.text if verdict.draft else "")

    @property
    def changed(self) -> bool:
        """Whether a release would give other words than before."""
        now = self.case.verdict
        return self.answer != (now.released if now and self.out else self.drafted)

    @property
    def shut(self) -> bool:
        """Whether the gate was closed, so that nothing was drafted."""
        return not self.draft.verdict.gate.open and not self.drafted

    @property
    def answers(self) -> bool:
        """Whether the case has a verdict, not a gate decision alone."""
        return self.case.verdict is not None


def case_view(review: Review, name: str, reader: Reader) -> CaseView:
    """The view of a case; raise `StoreError` if the reader may not read all of it."""
    case = review.case(name, reader)
    if case.seen is None:
        raise StoreError(case.lacking)
    recorded = decision_of(case.entry)
    verdict = recorded.verdict or Verdict(
        recorded.evidence.question,
        Action.REVIEW,
        " ".join(recorded.gate.reasons),
        recorded.gate,
        recorded.evidence,
    )
    now = case.verdict
    out = now is not None and now.served
    return CaseView(
        case,
        view_of(verdict, Disclosure.ALL),
        out,
        _answer(verdict, now, case),
        _summary(case),
        age(case.queued_at or case.entry.time),
        reasons(case),
        review.next(case.entry.id, _NEXT, reader),
        {one.passage: one for one in case.marks if one.mark is not Mark.NONE},
    )


def _answer(verdict: Verdict, now: Verdict | None, case: Case) -> str:
    """The text that a release would give: what is released after a decision, the draft with the
    reviewer's corrections, or the text as it is."""
    if case.decided and now is not None and now.released:
        return now.released
    if verdict.draft is None:
        return verdict.released
    corrected = edited(verdict.draft, case.judgements)
    return verdict.released or corrected if corrected == verdict.draft.text else corrected


def _summary(case: Case) -> str:
    """A reason to begin with: what the reviewer said about the claims."""
    words = {"accept": "accepted", "overrule": "overruled", "correct": "corrected"}
    by: dict[str, list[str]] = {}
    for n, one in sorted(case.judgements.items()):
        by.setdefault(words[one.judgement.value], []).append(str(n))
    return "; ".join(
        f"claim {', '.join(numbers)} {word}" for word, numbers in by.items()
    ).capitalize()
