"""Talk alone is no ground to answer on: there must be a fact, or a strong question and answer."""

from __future__ import annotations

from collections import Counter

from suffice.settings import DiversitySettings
from suffice.types import Evidence, Kind, Retrieved


def diverse(evidence: Evidence, settings: DiversitySettings | None = None) -> str | None:
    """Why the evidence is too much of one sort, or `None` where it is not, or none asks."""
    settings = settings or DiversitySettings()
    if not settings.require_fact or any(_grounds(item, settings) for item in evidence):
        return None
    counts = Counter(item.passage.kind.value for item in evidence)
    held = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing"
    return (
        f"neither a fact of similarity {settings.min_fact_relevance:.2f} or more nor a "
        f"question-and-answer pair of {settings.min_qa_relevance:.2f} or more is among "
        f"the evidence ({held})"
    )


def _grounds(item: Retrieved, settings: DiversitySettings) -> bool:
    """Whether an answer may rest on it; a pair of unknown relevance is not strong."""
    if item.passage.kind is Kind.FACT:
        return item.relevance is None or item.relevance >= settings.min_fact_relevance
    strong = item.relevance is not None and item.relevance >= settings.min_qa_relevance
    return item.passage.kind is Kind.QA and strong
