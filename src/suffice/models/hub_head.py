"""Interprets a classifier's logits by the labels in its config.json."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.models.embedder import TokenIds
from suffice.models.reading import NO_NUMBER
from suffice.models.verifier import SupportScore

Floats = NDArray[np.float64]
Logits = NDArray[np.float32]

TIER = "hub"
LABELS = (
    "Add id2label to its config.json, in the order used in training: entailment, neutral, "
    "contradiction; or entailment, not_entailment; or entailment for a single output; or "
    "supported, hallucinated for tokens."
)


@dataclass(frozen=True, slots=True)
class Head:
    """The meaning of the logit columns. With `tokens`, each claim token has its own logits and
    `column` is the class "hallucinated"; otherwise `column` is the class "supported"."""

    labels: int
    column: int
    contradicted: int | None = None
    tokens: bool = False

    def judge(self, logits: Logits, claims: TokenIds) -> Floats:
        """Probabilities for supported, contradicted and not mentioned, one row per window. `claims`
        marks the tokens of the claims."""
        values = logits.astype(np.float64)
        if self.labels == 1:
            values = np.concatenate([values, np.zeros_like(values)], axis=1)
        powers = np.exp(values - values.max(axis=-1, keepdims=True))
        shares: Floats = powers / powers.sum(axis=-1, keepdims=True)
        chosen = shares[..., self.column]
        supported = 1 - np.where(claims, chosen, 0).max(axis=1) if self.tokens else chosen
        contradicted = (
            shares[:, self.contradicted]
            if self.contradicted is not None
            else np.zeros_like(supported)
        )
        rest = np.maximum(1 - supported - contradicted, 0)
        return np.stack([supported, contradicted, rest], axis=1)


def read_head(config: Mapping[str, Any]) -> Head:
    """The head that a config.json describes. Raise an error if the labels are unclear."""
    kind = str((config.get("architectures") or [""])[0])
    if kind and not kind.endswith(("ForSequenceClassification", "ForTokenClassification")):
        raise ValueError(f"a {kind} is neither an NLI cross-encoder nor a token classifier")
    numbered = {str(n): f"LABEL_{n}" for n in range(int(config.get("num_labels") or 2))}
    named = config.get("id2label") or numbered
    labels = [str(named[key]) for key in sorted(named, key=int)]
    roles = [_role(label) for label in labels]
    tokens = kind.endswith("ForTokenClassification")
    if tokens and labels == ["LABEL_0", "LABEL_1"]:
        return Head(2, 1, tokens=True)  # LettuceDetect models do not name their labels
    if tokens and roles.count("made up") == 1 < len(labels):
        return Head(len(labels), roles.index("made up"), tokens=True)
    if tokens or "" in roles or roles.count("supported") != 1 or roles.count("contradicted") > 1:
        raise ValueError(f"its labels are {', '.join(labels)}, which do not describe the classes")
    against = roles.index("contradicted") if "contradicted" in roles else None
    return Head(len(labels), roles.index("supported"), against)


def _role(label: str) -> str:
    name = re.sub("[^a-z]", "", label.lower())
    if name.startswith(("no", "neutral")):
        return "neither"
    stems = {"entail": "supported", "contra": "contradicted", "halluc": "made up"}
    return next((role for stem, role in stems.items() if stem in name), "")


def strongest_window(windows: Sequence[tuple[int, Floats]]) -> SupportScore:
    """The score of the window with the strongest support, unless a contradiction is stronger."""
    if not all(np.isfinite(row).all() for _, row in windows):
        return SupportScore(unchecked=NO_NUMBER)
    best = max(windows, key=lambda window: float(window[1][0]))
    worst = max(windows, key=lambda window: float(window[1][1]))
    passage, row = worst if worst[1][1] > best[1][0] else best
    supported, contradicted, rest = map(float, row)
    return SupportScore(supported, contradicted, rest, passage, tier=TIER)
