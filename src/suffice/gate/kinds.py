"""What a kind of evidence is worth to the gate."""

from __future__ import annotations

from dataclasses import replace

from suffice.settings import KindSettings
from suffice.types import Evidence, Retrieved


def adjusted(evidence: Evidence, settings: KindSettings | None = None) -> Evidence:
    """The evidence as a policy reads it: relevance times the weight of the passage's kind.

    Only for the gate's eyes. What is shown to anyone is the evidence that came in, with its raw
    relevance; the order is the search's and stays.
    """
    settings = settings or KindSettings()
    return replace(evidence, items=tuple(_adjusted(item, settings) for item in evidence))


def _adjusted(item: Retrieved, settings: KindSettings) -> Retrieved:
    weight: float = getattr(settings.weights, item.passage.kind.value)
    # A negative cosine is far off already; a small weight must not bring it nearer.
    if item.relevance is None or item.relevance <= 0:
        return item
    return replace(item, relevance=min(item.relevance * weight, 1.0))
