"""What became of a case, how good that is, and measures of its answer.

    an answerable question   right, in part, wrong or refused
    any other question       refused, answered, or answered with its gap named

A right answer contains one text of each group of `answers_all`, and nothing that misleads: no text
of `answers_none`, or, where a case has none, no statement that the verifier finds irrelevant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import fmean

from suffice.lab.eval.cases import DECLINED, PARTIAL, RIGHT, Draft, Question, Recorded, folded
from suffice.models.verifier import Pair, Verifier
from suffice.types import Action, Evidence, Rescue, Verdict

SERVED = (Action.SERVE, Action.CAVEAT)
WHOLE, DOUBTED, TRIMMED = "served", "served with a caveat", "trimmed"
"""How a recorded draft may leave: the first two as it was written."""
RELEVANT = 0.15
"""A statement is irrelevant if the verifier gives it a lower probability of answering the question.
Measured on sentences that an earlier version quoted: of 11 right answers in which a reader found
noise, 9 hold such a sentence; of 7 without noise 2, both times an item of a quoted list."""


class Answer(StrEnum):
    """The kinds of answers, as they are counted."""

    RIGHT = "right"
    IN_PART = "in part"
    WRONG = "wrong"
    REFUSED = "refused"
    ANSWERED = "answered"
    GAP_NAMED = "gap named"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one case and its score, from 0 to 1."""

    result: str
    action: str
    good: float
    answer: str = ""
    """The kind of answer to a question; empty for a draft."""
    gate: float = 0.0
    confidence: float = 0.0
    measures: Mapping[str, float] = field(default_factory=dict)


_INTRODUCES = re.compile(r":$|\|[ \t]*:?-+:?[ \t]*\|$")
"""The end of a lead-in, and of the line below the header of a table."""
Misleads = Callable[[Question, Verdict], bool]


def asked(case: Question, verdict: Verdict, misleads: Misleads | None = None) -> Outcome:
    """The outcome of a question. `misleads` judges what a right answer says besides."""
    answer = _answer(case, verdict, misleads)
    kind = "answerable" if case.answerable else "unanswerable"
    if answer == Answer.REFUSED:
        result = _unserved(verdict)
    else:
        result = "served" if answer == Answer.ANSWERED else answer
    good = _good(case, verdict, answer)
    return _scored(Outcome(f"{kind}: {result}", verdict.action.name, good, answer), verdict)


def checked(case: Draft, verdict: Verdict) -> Outcome:
    served = verdict.action in SERVED
    kind = "right draft" if case.correct else "wrong draft"
    result = "served" if served else _unserved(verdict)
    return Outcome(f"{kind}: {result}", verdict.action.name, float(served == case.correct))


def replayed(case: Recorded, verdict: Verdict, misleads: Misleads | None = None) -> Outcome:
    """The outcome of a recorded draft. A draft that leaves as it was written is what its label
    says, and one that was trimmed contains nothing else; quotations in its place are judged like
    any other answer."""
    fate = _fate(verdict)
    answer = _replayed(case, verdict, fate, misleads)
    good = {Answer.RIGHT: 1.0, Answer.GAP_NAMED: 1.0, Answer.IN_PART: 0.5}.get(answer, 0.0)
    if answer == Answer.REFUSED and not case.question.answerable:
        good = 1.0
    name = f"recorded, {case.label}: {fate}"
    return _scored(Outcome(name, verdict.action.name, good, answer), verdict)


def _replayed(case: Recorded, verdict: Verdict, fate: str, misleads: Misleads | None) -> Answer:
    question = case.question
    if fate not in (WHOLE, DOUBTED, TRIMMED) or case.label == DECLINED:
        return _answer(question, verdict, misleads)
    if not question.answerable:
        return Answer.GAP_NAMED if case.label == PARTIAL and fate == DOUBTED else Answer.ANSWERED
    complete = case.label == RIGHT and (fate != TRIMMED or question.share(verdict.released) == 1)
    return Answer.RIGHT if complete else Answer.IN_PART


def _scored(outcome: Outcome, verdict: Verdict) -> Outcome:
    """With the two scores that thresholds decide on. A missing confidence blocks no answer."""
    sure = 1.0 if verdict.confidence is None else verdict.confidence
    return replace(outcome, gate=verdict.gate.score, confidence=sure)


def _answer(case: Question, verdict: Verdict, misleads: Misleads | None) -> Answer:
    if verdict.action not in SERVED:
        return Answer.REFUSED
    if not case.answerable:
        return Answer.ANSWERED
    share = case.share(verdict.released)
    if not share or case.excluded(verdict.released):
        return Answer.WRONG
    if misleads and misleads(case, verdict):
        return Answer.WRONG
    return Answer.RIGHT if share == 1 else Answer.IN_PART


def _good(case: Question, verdict: Verdict, answer: Answer) -> float:
    if case.answerable:
        held = answer in (Answer.RIGHT, Answer.IN_PART)
        return case.share(verdict.released) if held else 0.0
    return float(answer == Answer.REFUSED and verdict.action is not Action.CONFLICT)


def _unserved(verdict: Verdict) -> str:
    return {Action.CONFLICT: "false conflict", Action.REVIEW: "review"}.get(
        verdict.action, "withheld"
    )


def _fate(verdict: Verdict) -> str:
    """What became of a recorded draft."""
    if verdict.action not in SERVED:
        return "stopped by the gate" if verdict.draft is None else "withheld by the checks"
    if verdict.rescue is Rescue.EXTRACTIVE:
        return "quoted instead"
    if verdict.draft and verdict.draft.claimed:
        return TRIMMED
    return WHOLE if verdict.action is Action.SERVE else DOUBTED


def beside(case: Question, verdict: Verdict) -> list[str]:
    """The released statements that contain no expected text. What only introduces others, such as
    the header of a table, states nothing."""
    claims = verdict.draft.claims if verdict.draft else ()
    wanted = [folded(one) for group in case.answers for one in group]
    texts = dict.fromkeys(claim.text for claim in claims)
    further = [text for text in texts if not any(one in folded(text) for one in wanted)]
    return [text for text in further if not _INTRODUCES.search(text)]


def irrelevant(verifier: Verifier) -> Misleads:
    """Whether an answer states something that has nothing to do with the question. Not asked of a
    case that names in `answers_none` what would mislead."""

    def misleads(case: Question, verdict: Verdict) -> bool:
        further = beside(case, verdict)
        if case.excludes is not None or not further:
            return False
        scores = verifier.sufficiency([Pair(case.question, (text,)) for text in further])
        return any(not one.unchecked and one.enough < RELEVANT for one in scores)

    return misleads


def answers_of(
    questions: Sequence[Question], outcomes: Sequence[Outcome]
) -> dict[str, dict[str, int]]:
    """The number of each kind of answer, for the answerable questions and for the others."""
    can = (Answer.RIGHT, Answer.IN_PART, Answer.WRONG, Answer.REFUSED)
    cannot = (Answer.REFUSED, Answer.GAP_NAMED, Answer.ANSWERED)
    found: dict[str, dict[str, int]] = {}
    for name, answerable, kinds in (("answerable", True, can), ("others", False, cannot)):
        own = Counter(
            one.answer
            for case, one in zip(questions, outcomes, strict=True)
            if case.answerable is answerable
        )
        found[name] = {"questions": own.total(), **{kind: own[kind] for kind in kinds}}
    return found


NAMES = (
    "faithfulness",
    "answer_relevance",
    "context_relevance",
    "context_precision",
    "context_recall",
)
ABSTAINED = frozenset({Action.WITHHOLD.name, Action.REVIEW.name})


def measure(case: Question, verdict: Verdict, verifier: Verifier) -> dict[str, float]:
    """The measures of one question: those of the answer if one was served, and those of the context
    if passages were retrieved."""
    found: dict[str, float] = {}
    if verdict.action in (Action.SERVE, Action.CAVEAT):
        if verdict.faithfulness is not None:
            found["faithfulness"] = verdict.faithfulness
        pair = Pair(case.question, (verdict.released,))
        found["answer_relevance"] = verifier.sufficiency([pair])[0].enough
    if verdict.evidence.items:
        found["context_relevance"] = _context_relevance(case.question, verdict.evidence, verifier)
        if references := _references(case):
            texts = [folded(passage.text) for passage in verdict.evidence.passages]
            found["context_precision"] = context_precision(texts, references)
            found["context_recall"] = context_recall(texts, references)
    return found


def context_precision(texts: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """The mean of precision@k over the ranks k of passages that contain a reference; 0 if none
    does."""
    holds = [any(one in text for group in references for one in group) for text in texts]
    ranks = [place for place, held in enumerate(holds, 1) if held]
    return fmean(n / rank for n, rank in enumerate(ranks, 1)) if ranks else 0.0


def context_recall(texts: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """The share of references with a wording that some passage contains."""
    held = [any(one in text for one in group for text in texts) for group in references]
    return fmean(held)


def means(found: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float | int | None]]:
    """The mean of each measure over the questions for which it is defined, and their number."""
    own = {name: [one[name] for one in found if name in one] for name in NAMES}
    return {
        name: {"mean": fmean(values) if values else None, "n": len(values)}
        for name, values in own.items()
    }


def abstention(answerable: Sequence[bool], actions: Sequence[str]) -> dict[str, float | int | None]:
    """Precision and recall of refusals (WITHHOLD and REVIEW): the share of refused questions that
    are unanswerable, and the share of unanswerable questions that were refused."""
    refused = [action in ABSTAINED for action in actions]
    right = sum(no and not can for no, can in zip(refused, answerable, strict=True))
    unanswerable = len(answerable) - sum(answerable)
    return {
        "refused": sum(refused),
        "precision": right / sum(refused) if any(refused) else None,
        "recall": right / unanswerable if unanswerable else None,
    }


def _context_relevance(question: str, evidence: Evidence, verifier: Verifier) -> float:
    scores = verifier.sufficiency([Pair(question, (one.text,)) for one in evidence.passages])
    least = [verifier.thresholds.of(one.tier).sufficiency for one in scores]
    return fmean(
        not one.unchecked and one.enough >= wanted
        for one, wanted in zip(scores, least, strict=True)
    )


def _references(case: Question) -> list[tuple[str, ...]]:
    groups = [(quote,) for quote in case.quotes] or case.answers
    return [tuple(folded(one) for one in group) for group in groups]
