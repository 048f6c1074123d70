"""Telling what sort of text a passage is, from its vector and its form.

A passage is compared with the mean of each kind's prototypes, and its form adds hints. Where
neither says otherwise it is a fact. The vector is the one the search needs anyway: telling the
kind costs a product with a matrix of four rows.
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
# Another kind must be at least this near, and lead over fact by this much; both in cosine.
_FLOOR = 0.10
_LEAD = 0.06
# From this cosine on, nearness to one of the user's own prototypes counts by itself.
_NEAR_OWN = 0.5
# Counts up when the rules here or in `hints` change: stored kinds are then told anew.
_VERSION = 1

Scores = NDArray[np.float64]


def mark(model: str, settings: KindSettings) -> str:
    """Names what kinds are told by: the same mark, the same kinds."""
    told_by = (_VERSION, model, *PROTOTYPES.values(), *astuple(settings.prototypes))
    return hashlib.sha256(json.dumps(told_by).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Classifier:
    """Kinds of passages whose vectors are known."""

    means: Vectors
    """A unit vector a kind: the mean of its prototypes."""
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

    def tell(self, passages: Sequence[Passage], vectors: Vectors) -> list[Kind]:
        """The kind of each passage; it depends on no other passage."""
        near = (vectors @ self.means.T).astype(np.float64)
        signs = np.array([hints(passage) for passage in passages]).reshape(near.shape)
        signs = signs + self._own(vectors)
        scores = near + signs
        fact, qa = KINDS.index(Kind.FACT), KINDS.index(Kind.QA)
        scores[:, fact] = np.maximum(near[:, fact], _FLOOR) + _LEAD + signs[:, fact]
        scores[signs[:, qa] == 0, qa] = -np.inf  # no pair without a question
        return [KINDS[best] for best in scores.argmax(axis=1)]

    def _own(self, vectors: Vectors) -> Scores:
        """What nearness to the user's own prototypes adds to each kind."""
        added = np.zeros((len(vectors), len(KINDS)))
        for column, kind in enumerate(KINDS):
            if len(self.own[kind]):
                nearest = (vectors @ self.own[kind].T).max(axis=1)
                added[:, column] = np.maximum(nearest - _NEAR_OWN, 0.0)
        return added
