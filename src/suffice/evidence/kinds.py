"""Determines a passage's kind from its embedding and its form.

The embedding is compared with the mean of each kind's prototypes, and the form adds hints. If
neither points to another kind, the passage is a fact. The search needs the embedding anyway, so
this only costs a product with a four-row matrix.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.evidence.hints import hints
from suffice.evidence.prototypes import PROTOTYPES
from suffice.models.embedder import Embedder, Vectors
from suffice.settings import KindSettings
from suffice.types import Kind, Passage

KINDS = tuple(Kind)
# The minimum cosine for a kind other than fact, and its minimum lead over fact.
_FLOOR = 0.10
_LEAD = 0.06
# From this cosine on, similarity to a user's prototype counts directly.
_NEAR_OWN = 0.5
# Increment this when the rules here or in `hints` change, to determine stored kinds again.
_VERSION = 1

Scores = NDArray[np.float64]


def classifier_fingerprint(model: str, settings: KindSettings) -> str:
    """Identifies the rules and prototypes. Equal fingerprints give equal kinds."""
    parts = (_VERSION, model, *PROTOTYPES.values(), *astuple(settings.prototypes))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Classifier:
    """Determines the kinds of passages from their vectors."""

    means: Vectors
    """A unit vector for each kind: the mean of its prototypes."""
    own: Mapping[Kind, Vectors]
    """The vectors of the user's own prototypes."""

    @classmethod
    def of(cls, embedder: Embedder, settings: KindSettings) -> Classifier:
        added = {kind: tuple(getattr(settings.prototypes, kind.value)) for kind in KINDS}
        texts = [(kind, text) for kind in KINDS for text in (*PROTOTYPES[kind], *added[kind])]
        vectors = embedder.embed([text for _, text in texts])
        rows = {kind: [n for n, (of, _) in enumerate(texts) if of is kind] for kind in KINDS}
        means = np.array([vectors[rows[kind]].mean(axis=0) for kind in KINDS])
        lengths = np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
        own = {kind: vectors[rows[kind][len(PROTOTYPES[kind]) :]] for kind in KINDS}
        return cls((means / lengths).astype(np.float32), own)

    def classify(self, passages: Sequence[Passage], vectors: Vectors) -> list[Kind]:
        """The kind of each passage, independently of the other passages."""
        near = (vectors @ self.means.T).astype(np.float64)
        signs = np.array([hints(passage) for passage in passages]).reshape(near.shape)
        signs = signs + self._own(vectors)
        scores = near + signs
        fact, qa = KINDS.index(Kind.FACT), KINDS.index(Kind.QA)
        scores[:, fact] = np.maximum(near[:, fact], _FLOOR) + _LEAD + signs[:, fact]
        scores[signs[:, qa] == 0, qa] = -np.inf  # Q&A requires a question
        return [KINDS[best] for best in scores.argmax(axis=1)]

    def _own(self, vectors: Vectors) -> Scores:
        """The score that similarity to the user's prototypes adds to each kind."""
        added = np.zeros((len(vectors), len(KINDS)))
        for column, kind in enumerate(KINDS):
            if len(self.own[kind]):
                nearest = (vectors @ self.own[kind].T).max(axis=1)
                added[:, column] = np.maximum(nearest - _NEAR_OWN, 0.0)
        return added
