"""RAGAS-style measures of retrieval and answers, computed without an LLM.

    faithfulness       the share of the answer's claims that the documents back
    answer_relevance   the probability, by the verifier, that the answer answers the question
    context_relevance  the share of retrieved passages that answer the question by themselves
    context_precision  how high the passages that contain a reference rank (average precision)
    context_recall     the share of the references that a retrieved passage contains

The last two need references: the sentences in `quotes`, or else the texts of `answers_all`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from suffice.eval.cases import Question, folded
from suffice.models.verifier import Pair, Verifier
from suffice.types import Action, Evidence, Verdict

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
