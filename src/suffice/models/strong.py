"""The strong tier: SmolLM2 with our adapter, for what the fast tier leaves open.

Its cost is bounded: evidence stands first in the prompt, so that one reading of at most a window
serves all claims of an answer, and only so many claims of an answer are asked. So it reads the
nearest portion of long evidence and no further ones; those count through the fast tier, which reads
them all. Where the strong tier is asked, the two speak together; elsewhere, and where a claim
leaves no room for evidence, the fast tier's word stands, and its threshold holds. Each score names
the tier that gave it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np

from suffice.models.calibration import Floats, margin, read_calibration, read_thresholds
from suffice.models.card import Card
from suffice.models.fast import FastVerifier, split
from suffice.models.llama import LlamaSession, open_llama
from suffice.models.reading import Material, clean, portions
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds

ANSWERS = (" yes", " unknown", " no")
"""Supported (or enough), not mentioned (or not enough), contradicted: as in training."""
WINDOW = 1024
_ROOM = 320
_ROOM_TOGETHER = 448


@dataclass(frozen=True)
class StrongVerifier:
    """The model loads on first use; calls from several threads wait for each other."""

    card: Card
    fast: FastVerifier
    band: tuple[float, float] = (0.25, 0.75)
    pairs: int = 16
    threads: int = 0
    tier: str = "strong"
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)
    _opened: list[LlamaSession] = field(default_factory=list, repr=False, compare=False)

    @property
    def id(self) -> str:
        return f"{self.card.id}+{self.fast.id}"

    @property
    def thresholds(self) -> Thresholds:
        """Its own where it was asked; the fast tier's for the scores that stayed with that."""
        own = read_thresholds(self.card.raw)
        return replace(own, tiers={self.fast.tier: self.fast.thresholds})

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        rough = self.fast.support_margins(pairs)
        scores = self.fast.scored(rough)
        calibration = read_calibration(self.card.raw, "support")
        for group in self._asked(pairs, scores):
            read = self._evidence(pairs[group[0]], _ROOM)
            asked = {n: text for n in group if self._fits(read, text := _claim(pairs[n]))}
            logs = self.session.judge(read, list(asked.values()))
            for n, told in zip(asked, logs, strict=True):
                held = rough[n]
                assert not isinstance(held, str)
                supported, contradicted = split(self._blend(held[0], told), calibration)
                rest = 1 - supported - contradicted
                scores[n] = SupportScore(supported, contradicted, rest, held[1], tier=self.tier)
        return scores

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        rough = self.fast.sufficiency_margins(pairs)
        calibration = read_calibration(self.card.raw, "sufficiency")
        weight = float(self.card.raw.get("weights", {}).get("sufficiency", 0.5))
        scores = self.fast.scored_enough(rough)
        for n, (pair, held) in enumerate(zip(pairs, rough, strict=True)):
            if isinstance(held, str) or not self._open(scores[n].enough):
                continue
            read = self._evidence(pair, _ROOM_TOGETHER)
            asked = f"\nQuestion: {_line(pair.said)}\nEnough:"
            if self._fits(read, asked):
                told = self.session.judge(read, [asked])[:, :2]
                both = (1 - weight) * held[0] + weight * margin(told, 0)
                enough = float(calibration.probability(both)[0])
                scores[n] = SufficiencyScore(enough, held[1], tier=self.tier)
        return scores

    @property
    def session(self) -> LlamaSession:
        with self._lock:
            if not self._opened:
                adapter = self.card.folder / "adapter.gguf"
                self._opened.append(open_llama(adapter, ANSWERS, self.threads, WINDOW))
            return self._opened[0]

    def _blend(self, rough: Floats, told: Floats) -> Floats:
        """Both tiers' log-probabilities, weighted."""
        weight = float(self.card.raw.get("weights", {}).get("support", 0.5))
        mixed: Floats = (1 - weight) * (rough - np.logaddexp.reduce(rough)) + weight * told
        return mixed

    def _asked(self, pairs: Sequence[Pair], scores: Sequence[SupportScore]) -> list[list[int]]:
        """What the fast tier leaves open, the most open first, by the evidence it is read with."""
        threshold = self.fast.thresholds.support
        groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for n, (pair, score) in enumerate(zip(pairs, scores, strict=True)):
            if not score.unchecked and self._open(score.supported):
                said = pair.answer or pair.said
                groups[pair.evidence, pair.question, said].append(n)
        return [
            sorted(group, key=lambda n: abs(scores[n].supported - threshold))[: self.pairs]
            for group in groups.values()
        ]

    def _open(self, chance: float) -> bool:
        low, high = self.band
        return low <= chance <= high

    def _evidence(self, pair: Pair, room: int) -> str:
        """The part of the evidence nearest to the whole answer, so that its claims share it."""
        material = Material.of(pair.evidence, self._tokens)
        said = clean(f"{pair.question} {pair.answer or pair.said}")
        return "Evidence: " + "".join(next(portions(material, said, room)).texts).rstrip("\n")

    def _fits(self, read: str, asked: str) -> bool:
        return len(self.session.tokens(read)) <= self.session.room(asked)

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.session.tokens(text) for text in texts]


def _claim(pair: Pair) -> str:
    question = f"\nQuestion: {_line(pair.question)}" if pair.question else ""
    return f"{question}\nClaim: {_line(pair.said)}\nSupported:"


def _line(text: str) -> str:
    """On one line: a claim must not write the lines of the prompt."""
    return " ".join(clean(text).split())
