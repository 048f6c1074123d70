"""The fast tier: one small cross-encoder, int8, for every claim and every question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.models.calibration import (
    Calibration,
    Floats,
    margin,
    read_calibration,
    read_thresholds,
)
from suffice.models.card import Card
from suffice.models.reading import NO_NUMBER, Material, Portion, clean, portions, unreadable
from suffice.models.tokens import batches, load_tokenizer, segments
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds
from suffice.text.digest import stems

SUPPORTED, NOT_MENTIONED, CONTRADICTED = 0, 1, 2
ENOUGH = 1
# As in training: about 1,500 and 2,000 characters of evidence at a time.
_ROOM = 416
_ROOM_TOGETHER = 448
_SURE = 0.85
_ALONE = 10
_MARKS = 3


@dataclass(frozen=True)
class Read:
    """One portion with what is said of it, as token ids."""

    said: Sequence[int]
    portion: Portion

    @property
    def length(self) -> int:
        return len(self.said) + len(self.portion.tokens) + _MARKS


@dataclass(frozen=True)
class FastVerifier:
    """Both questions from one ONNX session, which starts on first use."""

    card: Card
    threads: int = 0
    tier: str = "fast"
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)
    _opened: list[tuple[Any, Any]] = field(default_factory=list, repr=False, compare=False)

    @property
    def id(self) -> str:
        return self.card.id

    @property
    def thresholds(self) -> Thresholds:
        return read_thresholds(self.card.raw)

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return self.scored(self.support_margins(pairs))

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return self.scored_enough(self.sufficiency_margins(pairs))

    def scored(self, found: Sequence[tuple[Floats, int] | str]) -> list[SupportScore]:
        """Raw logits as calibrated scores."""
        calibration = read_calibration(self.card.raw, "support")
        scores = []
        for one in found:
            if isinstance(one, str):
                scores.append(SupportScore(unchecked=one))
                continue
            supported, contradicted = split(one[0], calibration)
            rest = 1 - supported - contradicted
            scores.append(SupportScore(supported, contradicted, rest, one[1], tier=self.tier))
        return scores

    def scored_enough(self, found: Sequence[tuple[float, int] | str]) -> list[SufficiencyScore]:
        """Raw margins as calibrated scores."""
        calibration = read_calibration(self.card.raw, "sufficiency")
        scores = []
        for one in found:
            if isinstance(one, str):
                scores.append(SufficiencyScore(unchecked=one))
                continue
            enough = float(calibration.probability(np.array([one[0]]))[0])
            scores.append(SufficiencyScore(enough, one[1], tier=self.tier))
        return scores

    def support_margins(self, pairs: Sequence[Pair]) -> list[tuple[Floats, int] | str]:
        """Raw logits and the passage that decided, or why nobody judged. For the strong tier too,
        which calibrates the two together."""
        plans = self._plans(pairs, lambda pair: f"{pair.question} {pair.said}".strip(), _ROOM)
        best: list[tuple[Floats, int] | str] = [
            plan if isinstance(plan, str) else (np.zeros(3), 0) for plan in plans
        ]
        calibration = read_calibration(self.card.raw, "support")
        going = {n: plan for n, plan in enumerate(plans) if not isinstance(plan, str)}
        first = True
        while going:
            reads = {n: read for n, plan in going.items() if (read := next(plan, None))}
            logits = self._run(list(reads.values()), "support")
            for n, row in zip(reads, logits, strict=True):
                held = best[n]
                if not np.isfinite(row).all():
                    best[n] = NO_NUMBER
                elif first or (not isinstance(held, str) and _decides(row, held[0])):
                    best[n] = (row, reads[n].portion.passage)
            going = {n: going[n] for n in reads if _unsure(best[n], calibration)}
            first = False
        return best

    def sufficiency_margins(self, pairs: Sequence[Pair]) -> list[tuple[float, int] | str]:
        """The margin of "enough": of the best portion of the passages together, or of one alone."""
        plans = self._plans(pairs, lambda pair: pair.said, _ROOM_TOGETHER, alone=True)
        reads = [
            (n, read) for n, plan in enumerate(plans) if not isinstance(plan, str) for read in plan
        ]
        logits = self._run([read for _, read in reads], "sufficiency")
        margins = margin(logits, ENOUGH) if len(reads) else np.zeros(0)
        best: list[tuple[float, int] | str] = [
            plan if isinstance(plan, str) else (-np.inf, 0) for plan in plans
        ]
        for (n, read), value in zip(reads, margins, strict=True):
            held = best[n]
            if not np.isfinite(value):
                best[n] = NO_NUMBER
            elif not isinstance(held, str) and value > held[0]:
                best[n] = (float(value), read.portion.passage)
        return best

    def _plans(
        self,
        pairs: Sequence[Pair],
        asked: Callable[[Pair], str],
        room: int,
        *,
        alone: bool = False,
    ) -> list[Iterator[Read] | str]:
        """For each pair what to read, in order, or why it cannot be read."""
        said = [clean(asked(pair)) for pair in pairs]
        tokens = self._tokens(said)
        unknown = self._open()[0].token_to_id("[UNK]")
        materials: dict[tuple[str, ...], Material] = {}
        plans: list[Iterator[Read] | str] = []
        for pair, text, ids in zip(pairs, said, tokens, strict=True):
            reason = unreadable(pair, len(ids), self.card.window // 2, unknown in ids)
            if not reason and pair.evidence not in materials:
                materials[pair.evidence] = Material.of(pair.evidence, self._tokens)
            if reason := reason or materials[pair.evidence].unreadable:
                plans.append(reason)
                continue
            material = materials[pair.evidence]
            space = min(room, self.card.window - len(ids) - _MARKS)
            cut = _each(material, text, space) if alone else portions(material, text, space)
            plans.append(_reads(ids, cut))
        return plans

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        tokenizer, _ = self._open()
        encodings = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def _run(self, reads: Sequence[Read], output: str) -> Floats:
        tokenizer, session = self._open()
        width = {"support": 3, "sufficiency": 2}[output]
        found = np.zeros((len(reads), width))
        matched = bool(self.card.raw.get("matched"))
        start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        for rows in batches([read.length for read in reads]):
            ids, types, mask = _inputs([reads[row] for row in rows], start, end, matched)
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
            found[rows] = session.run([output], feed)[0]
        return found

    def _open(self) -> tuple[Any, Any]:
        with self._lock:
            if not self._opened:
                from suffice.models.session import open_session

                folder: Path = self.card.folder
                tokenizer = load_tokenizer(folder / "tokenizer.json")
                session = open_session(folder / "model.onnx", self.threads)
                self._opened.append((tokenizer, session))
            return self._opened[0]


def _reads(said: Sequence[int], cut: Iterator[Portion]) -> Iterator[Read]:
    return (Read(said, portion) for portion in cut)


def split(logits: Floats, calibration: Calibration) -> tuple[float, float]:
    """The calibrated probability of "supported", and how much of the rest contradicts."""
    supported = float(calibration.probability(margin(logits[None], SUPPORTED))[0])
    rest = logits[CONTRADICTED] - np.logaddexp(logits[NOT_MENTIONED], logits[CONTRADICTED])
    return supported, (1 - supported) * float(np.exp(rest))


def _decides(row: Floats, held: Floats) -> bool:
    """A later portion counts where it supports what none did, or contradicts what none mentioned
    or one supported less strongly."""
    says, said = int(np.argmax(row)), int(np.argmax(held))
    if says == SUPPORTED != said:
        return True
    if NOT_MENTIONED in (says, said) and says != said:
        return said == NOT_MENTIONED
    return _strength(row, says) > _strength(held, said)


def _strength(logits: Floats, says: int) -> float:
    """Of what is said; where nothing is, how near it comes to support."""
    column = SUPPORTED if says == NOT_MENTIONED else says
    return float(margin(logits[None], column)[0])


def _unsure(held: tuple[Floats, int] | str, calibration: Calibration) -> bool:
    return not isinstance(held, str) and split(held[0], calibration)[0] < _SURE


def _each(material: Material, said: str, room: int) -> Iterator[Portion]:
    """All portions of the passages together, then the nearest passages alone, a portion each."""
    yield from portions(material, said, room)
    passages = material.alone()
    if len(passages) == 1:
        return
    alone = [next(portions(one, said, min(room, _ROOM))) for one in passages.values()]
    words = stems(said)
    alone.sort(key=lambda portion: -len(words & stems(" ".join(portion.texts))))
    yield from alone[:_ALONE]


def _inputs(
    reads: Sequence[Read], start: int, end: int, matched: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    ids = np.zeros((len(reads), max(read.length for read in reads)), dtype=np.int64)
    types, mask = np.zeros_like(ids), np.zeros_like(ids)
    for row, read in enumerate(reads):
        first = [start, *read.said, end]
        both = [*first, *read.portion.tokens, end]
        ids[row, : len(both)] = both
        types[row, : len(both)] = segments(first, both[len(first) :], matched=matched)
        mask[row, : len(both)] = 1
    return ids, types, mask
