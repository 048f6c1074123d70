"""The built-in verifier: a cross-encoder, small (fast tier) or large (strong tier).

The calibration in its card converts log-probabilities to a probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.models.card import Calibration, Card, Floats, margin, read_calibration
from suffice.models.reading import NO_NUMBER, Material, Portion, clean, portions, unreadable
from suffice.models.tokens import batches, load_tokenizer
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds
from suffice.text.digest import word_prefixes

MARKS = 3
"""The number of special tokens in a pair: start, separator and end."""
WIDTHS = {"support": 3, "sufficiency": 2}
"""The number of columns of each head."""


@dataclass(frozen=True, slots=True)
class Read:
    """A claim or question and a portion of evidence, as token ids."""

    text: Sequence[int]
    evidence: Sequence[int]

    @property
    def length(self) -> int:
        return len(self.text) + len(self.evidence) + MARKS


@dataclass(frozen=True)
class Encoder:
    """A cross-encoder with its card. The session is opened on first use."""

    card: Card
    threads: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)
    _opened: list[tuple[Any, Any]] = field(default_factory=list, repr=False, compare=False)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        tokenizer, _ = self._open()
        encodings = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    @property
    def unknown(self) -> int:
        """The token id for words outside the vocabulary."""
        return int(self._open()[0].token_to_id("[UNK]"))

    def judge(self, reads: Sequence[Read], head: str) -> tuple[Floats, list[Floats]]:
        """The log-probabilities for each pair and, for each evidence token, the log-odds that it
        belongs to a sentence that answers the question or supports the claim."""
        tokenizer, session = self._open()
        start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        found = np.zeros((len(reads), WIDTHS[head]))
        marks: list[Floats] = [np.zeros(0)] * len(reads)
        for rows in batches([read.length for read in reads]):
            feed = _feed([reads[row] for row in rows], start, end)
            found[rows], every = session.run([head, "tokens"], feed)
            for row, own in zip(rows, every, strict=True):
                first = len(reads[row].text) + MARKS - 1
                marks[row] = own[first : first + len(reads[row].evidence), 0].astype(np.float64)
        return found - np.logaddexp.reduce(found, axis=1, keepdims=True), marks

    def _open(self) -> tuple[Any, Any]:
        with self._lock:
            if not self._opened:
                from suffice.models.session import open_session

                tokenizer = load_tokenizer(self.card.folder / "tokenizer.json")
                session = open_session(self.card.folder / "model.onnx", self.threads)
                self._opened.append((tokenizer, session))
            return self._opened[0]


def _feed(reads: Sequence[Read], start: int, end: int) -> dict[str, NDArray[np.int64]]:
    ids = np.zeros((len(reads), max(read.length for read in reads)), dtype=np.int64)
    types, mask = np.zeros_like(ids), np.zeros_like(ids)
    for row, read in enumerate(reads):
        both = [start, *read.text, end, *read.evidence, end]
        ids[row, : len(both)] = both
        types[row, len(read.text) + MARKS - 1 : len(both)] = 1
        mask[row, : len(both)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


SUPPORTED, NOT_MENTIONED, CONTRADICTED = 0, 1, 2
ENOUGH = 1
# As in training: about 1,800 and 2,000 characters of evidence at a time.
_ROOM = 416
_ROOM_TOGETHER = 448
_SURE = 0.85
_ALONE = 10


@dataclass(frozen=True, slots=True)
class _ModelInput:
    """One model input: a claim or question with a portion of evidence, and whether the portion is
    from a single passage."""

    read: Read
    portion: Portion
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The log-probabilities of support, and the passage and sentence that decided."""

    logits: Floats
    passage: int = 0
    quote: str = ""


@dataclass(frozen=True, slots=True)
class CrossEncoder:
    """Judges support and sufficiency, and finds the sentences that answer a question."""

    encoder: Encoder
    tier: str = "fast"

    @property
    def card(self) -> Card:
        return self.encoder.card

    @property
    def id(self) -> str:
        """Identifies the weights."""
        return self.card.id

    @property
    def thresholds(self) -> Thresholds:
        """Even odds, because the probabilities are calibrated."""
        return Thresholds()

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return [self._supported(one) for one in self.support_margins(pairs)]

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return [self._enough(one) for one in self.sufficiency_margins(pairs)]

    def answers(self, question: str, passages: Sequence[str]) -> list[float | None]:
        """For each passage, in order, the log-odds that it alone answers the question; `None` if it
        cannot be read."""
        found = self.sufficiency_margins([Pair(question, (passage,)) for passage in passages])
        return [None if isinstance(one, str) else one[0] for one in found]

    def sentences(self, text: str, sentences: Sequence[str]) -> list[float]:
        """For each sentence, in order, the probability that it answers the question or supports the
        claim; 0 if it cannot be read."""
        ids, *parts = self.encoder.tokens([clean(text), *(f"{clean(one)} " for one in sentences)])
        room = min(_ROOM, self.card.window - len(ids) - MARKS)
        if room < _ROOM // 4:
            return [0.0] * len(sentences)
        parts = [part[:room] for part in parts]
        groups = list(_groups([len(part) for part in parts], room))
        reads = [Read(ids, [token for n in group for token in parts[n]]) for group in groups]
        found = [0.0] * len(sentences)
        for group, marks in zip(groups, self.encoder.judge(reads, "sufficiency")[1], strict=True):
            odds = means(marks, [len(parts[n]) for n in group])
            for n, value in zip(group, odds, strict=True):
                found[n] = 1 / (1 + math.exp(-value)) if parts[n] else 0.0
        return found

    def support_margins(self, pairs: Sequence[Pair]) -> list[Found | str]:
        """The result for each pair, or why it was not judged."""
        plans = self._plans(pairs, lambda pair: f"{pair.question} {pair.text}".strip(), _support)
        best: list[Found | str] = [
            plan if isinstance(plan, str) else Found(np.zeros(3)) for plan in plans
        ]
        going = {n: plan for n, plan in enumerate(plans) if not isinstance(plan, str)}
        first = True
        while going:
            asked = {n: one for n, plan in going.items() if (one := next(plan, None))}
            logits, marks = self.encoder.judge([one.read for one in asked.values()], "support")
            for n, row, marked in zip(asked, logits, marks, strict=True):
                held = best[n]
                if not np.isfinite(row).all():
                    best[n] = NO_NUMBER
                elif first or (not isinstance(held, str) and _decides(row, held.logits)):
                    best[n] = Found(row, *_quoted(asked[n].portion, marked))
            going = {n: going[n] for n in asked if self._unsure(best[n])}
            first = False
        return best

    def sufficiency_margins(self, pairs: Sequence[Pair]) -> list[tuple[float, int] | str]:
        """The margin of "enough", averaged over all passages together and the best passage alone,
        and the index of the best passage."""
        known = [_known(pair, self.id) for pair in pairs]
        plans = self._plans(pairs, lambda pair: pair.text, _sufficiency)
        asked = [
            (n, one)
            for n, plan in enumerate(plans)
            if not isinstance(plan, str)
            for one in plan
            if not (one.alone and one.portion.passage in known[n])
        ]
        logits, _ = self.encoder.judge([one.read for _, one in asked], "sufficiency")
        margins = margin(logits, ENOUGH) if asked else np.zeros(0)
        seen = [[(value, True, passage) for passage, value in own.items()] for own in known]
        for (n, one), value in zip(asked, margins, strict=True):
            seen[n].append((float(value), one.alone, one.portion.passage))
        return [
            plan if isinstance(plan, str) else _together(own)
            for plan, own in zip(plans, seen, strict=True)
        ]

    def _supported(self, found: Found | str) -> SupportScore:
        if isinstance(found, str):
            return SupportScore(unchecked=found)
        supported, contradicted = split(found.logits, self._calibration("support"))
        rest = 1 - supported - contradicted
        return SupportScore(
            supported, contradicted, rest, found.passage, tier=self.tier, quote=found.quote
        )

    def _enough(self, found: tuple[float, int] | str) -> SufficiencyScore:
        if isinstance(found, str):
            return SufficiencyScore(unchecked=found)
        enough = float(self._calibration("sufficiency").probability(np.array([found[0]]))[0])
        return SufficiencyScore(enough, found[1], tier=self.tier)

    def _calibration(self, question: str) -> Calibration:
        return read_calibration(self.card.raw, question)

    def _unsure(self, held: Found | str) -> bool:
        line = self._calibration("support")
        return not isinstance(held, str) and split(held.logits, line)[0] < _SURE

    def _plans(
        self,
        pairs: Sequence[Pair],
        asked: Callable[[Pair], str],
        cut: Callable[[Material, str, int], Iterator[tuple[Portion, bool]]],
    ) -> list[Iterator[_ModelInput] | str]:
        """For each pair, the inputs to read in order, or why it cannot be read."""
        encoder = self.encoder
        texts = [clean(asked(pair)) for pair in pairs]
        materials: dict[tuple[str, ...], Material] = {}
        plans: list[Iterator[_ModelInput] | str] = []
        for pair, text, ids in zip(pairs, texts, encoder.tokens(texts), strict=True):
            reason = unreadable(pair, len(ids), self.card.window // 2, encoder.unknown in ids)
            if not reason and pair.evidence not in materials:
                materials[pair.evidence] = Material.of(pair.evidence, encoder.tokens)
            if reason := reason or materials[pair.evidence].unreadable:
                plans.append(reason)
                continue
            space = self.card.window - len(ids) - MARKS
            plans.append(_plan(ids, cut(materials[pair.evidence], text, space)))
        return plans


def _quoted(portion: Portion, marks: Floats) -> tuple[int, str]:
    """The sentence with the highest token scores, and the passage it belongs to."""
    odds = means(marks, portion.sizes)
    if not odds:
        return portion.passage, ""
    best = max(range(len(odds)), key=odds.__getitem__)
    return portion.owners[best], portion.texts[best].strip()


def means(marks: Floats, sizes: Sequence[int]) -> list[float]:
    """The mean of each run of tokens; -inf for a run without any."""
    ends = np.cumsum(sizes)
    runs = np.split(marks[: ends[-1] if len(ends) else 0], ends[:-1])
    return [float(run.mean()) if run.size else -math.inf for run in runs] if len(ends) else []


def _plan(text: Sequence[int], cut: Iterator[tuple[Portion, bool]]) -> Iterator[_ModelInput]:
    return (_ModelInput(Read(text, one.tokens), one, alone) for one, alone in cut)


def _support(material: Material, text: str, space: int) -> Iterator[tuple[Portion, bool]]:
    return ((one, False) for one in portions(material, text, min(_ROOM, space)))


def _sufficiency(material: Material, text: str, space: int) -> Iterator[tuple[Portion, bool]]:
    """All portions of the passages together, then portions of the nearest passages alone."""
    yield from ((one, False) for one in portions(material, text, min(_ROOM_TOGETHER, space)))
    passages = list(material.alone().values())
    if len(passages) == 1:
        return
    words = word_prefixes(text)
    passages.sort(key=lambda one: -len(words & word_prefixes(" ".join(one.texts))))
    for one in passages[:_ALONE]:
        yield from ((portion, True) for portion in portions(one, text, min(_ROOM, space)))


def _known(pair: Pair, verifier: str) -> dict[int, float]:
    """What this verifier has said of passages alone, if there are several."""
    if pair.alone_by != verifier or len(pair.evidence) == 1:
        return {}
    return {n: value for n, value in enumerate(pair.alone) if value is not None}


def _together(seen: Sequence[tuple[float, bool, int]]) -> tuple[float, int] | str:
    """The mean of the best passage alone and of all together, and which passage is the best. A
    reading is its margin, whether it was of a passage alone, and the passage."""
    if not all(np.isfinite(value) for value, _, _ in seen):
        return NO_NUMBER
    best, _, passage = max(seen, key=lambda reading: (reading[1], reading[0]))
    joined = max(value for value, alone, _ in seen if not alone)
    return (best + joined) / 2, passage


def _groups(sizes: Sequence[int], room: int) -> Iterator[list[int]]:
    """Group consecutive texts, as many as fit into each group."""
    group: list[int] = []
    used = 0
    for n, size in enumerate(sizes):
        if group and used + size > room:
            yield group
            group, used = [], 0
        group.append(n)
        used += min(size, room)
    if group:
        yield group


def split(logits: Floats, calibration: Calibration) -> tuple[float, float]:
    """The calibrated probabilities of support and of contradiction."""
    supported = float(calibration.probability(margin(logits[None], SUPPORTED))[0])
    rest = logits[CONTRADICTED] - np.logaddexp(logits[NOT_MENTIONED], logits[CONTRADICTED])
    return supported, (1 - supported) * float(np.exp(rest))


def _decides(row: Floats, held: Floats) -> bool:
    """Whether a later portion replaces the current result. Support replaces any other result. "Not
    mentioned" gives way to any other result and replaces none. Otherwise the stronger result
    wins."""
    says, before = int(np.argmax(row)), int(np.argmax(held))
    if says == SUPPORTED != before:
        return True
    if NOT_MENTIONED in (says, before) and says != before:
        return before == NOT_MENTIONED
    return _strength(row, says) > _strength(held, before)


def _strength(logits: Floats, says: int) -> float:
    """The strength of a result. A neutral result counts by how close it is to support."""
    column = SUPPORTED if says == NOT_MENTIONED else says
    return float(margin(logits[None], column)[0])
