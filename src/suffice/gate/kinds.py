"""Applies a weight to each kind of evidence."""

from __future__ import annotations

from dataclasses import replace

from suffice.settings import KindSettings
from suffice.types import Evidence, Retrieved


def adjusted(evidence: Evidence, settings: KindSettings | None = None) -> Evidence:
    """The evidence with each relevance multiplied by the weight of the passage's kind.

    Only the gate uses this. Results show the raw relevance, in search order.
    """
    settings = settings or KindSettings()
    return replace(evidence, items=tuple(_adjusted(item, settings) for item in evidence))


def _adjusted(item: Retrieved, settings: KindSettings) -> Retrieved:
    weight: float = getattr(settings.weights, item.passage.kind.value)
    # A small weight must not raise a negative cosine.
    if item.relevance is None or item.relevance <= 0:
        return item
    return replace(item, relevance=min(item.relevance * weight, 1.0))
