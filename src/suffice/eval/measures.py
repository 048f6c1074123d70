"""Measures of retrieval and answers in the manner of RAGAS, computed without an LLM.

    faithfulness       the share of the answer's claims that are backed by the documents
    answer_relevance   the probability that the answer answers the question, by the verifier
    context_relevance  the share of retrieved passages that answer the question by themselves
    context_precision  how far up the retrieved passages with a reference stand (average precision)
    context_recall     the share of the references that stand in some retrieved passage

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
    """The measures of one question that are defined: those of the answer if one was served, those
    of the context if something was retrieved."""
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
    """The mean of precision@k over the places k of passages that hold a reference; 0 if none
    does."""
    holds = [any(one in text for group in references for one in group) for text in texts]
    ranks = [place for place, held in enumerate(holds, 1) if held]
    return fmean(n / rank for n, rank in enumerate(ranks, 1)) if ranks else 0.0


def context_recall(texts: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """The share of references of which one wording stands in some passage."""
    held = [any(one in text for one in group for text in texts) for group in references]
    return fmean(held)


def means(found: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float | int | None]]:
    """Each measure's mean over the questions for which it is defined, and their number."""
    own = {name: [one[name] for one in found if name in one] for name in NAMES}
    return {
        name: {"mean": fmean(values) if values else None, "n": len(values)}
        for name, values in own.items()
    }


def abstention(answerable: Sequence[bool], actions: Sequence[str]) -> dict[str, float | int | None]:
    """How good refusals (WITHHOLD and REVIEW) are: the share of them that concern unanswerable
    questions, and the share of unanswerable questions that were refused."""
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
