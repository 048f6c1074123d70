"""Requires a fact or a strong question-and-answer pair in the evidence, if the settings say so."""

from __future__ import annotations

from collections import Counter

from suffice.settings import DiversitySettings
from suffice.types import Evidence, Kind, Retrieved


def diverse(evidence: Evidence, settings: DiversitySettings | None = None) -> str | None:
    """The reason why an answer may not rest on the evidence: no passage is of a kind that the
    settings require. `None` if one is, or if the settings require none."""
    settings = settings or DiversitySettings()
    if not settings.require_fact or any(_grounds(item, settings) for item in evidence):
        return None
    counts = Counter(item.passage.kind.value for item in evidence)
    held = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing"
    return (
        f"there is neither a fact with similarity {settings.min_fact_relevance:.2f} or more "
        f"nor a question-and-answer pair with {settings.min_qa_relevance:.2f} or more ({held})"
    )


def _grounds(item: Retrieved, settings: DiversitySettings) -> bool:
    """Whether an answer may rest on this passage. Q&A pairs without a known relevance do not
    count."""
    if item.passage.kind is Kind.FACT:
        return item.relevance is None or item.relevance >= settings.min_fact_relevance
    strong = item.relevance is not None and item.relevance >= settings.min_qa_relevance
    return item.passage.kind is Kind.QA and strong
