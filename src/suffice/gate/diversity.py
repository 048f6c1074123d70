"""Talk alone is no ground to answer on: there must be a fact, or a strong question and answer."""

from __future__ import annotations

from collections import Counter

from suffice.settings import DiversitySettings
from suffice.types import Evidence, Kind, Retrieved


def diverse(evidence: Evidence, settings: DiversitySettings | None = None) -> str | None:
    """Why the evidence is too much of one sort, or `None` where it is not, or none asks."""
    settings = settings or DiversitySettings()
    if not settings.factual or any(_grounds(item, settings) for item in evidence):
        return None
    counts = Counter(item.passage.kind.value for item in evidence)
    held = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing"
    return (
        f"neither a fact of similarity {settings.fact:.2f} or more nor a question-and-answer pair "
        f"of {settings.qa:.2f} or more is among the evidence ({held})"
    )


def _grounds(item: Retrieved, settings: DiversitySettings) -> bool:
    """Whether an answer may rest on it; a pair of unknown relevance is not strong."""
    if item.passage.kind is Kind.FACT:
        return item.relevance is None or item.relevance >= settings.fact
    strong = item.relevance is not None and item.relevance >= settings.qa
    return item.passage.kind is Kind.QA and strong
