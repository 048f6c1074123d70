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
        logits = np.zeros((len(reads), WIDTHS[head]))
        marks: list[Floats] = [np.zeros(0)] * len(reads)
        for rows in batches([read.length for read in reads]):
            feed = _feed([reads[row] for row in rows], start, end)
            logits[rows], token_logits = session.run([head, "tokens"], feed)
            for row, values in zip(rows, token_logits, strict=True):
                first = len(reads[row].text) + MARKS - 1
                evidence = values[first : first + len(reads[row].evidence), 0]
                marks[row] = evidence.astype(np.float64)
        return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True), marks

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
class SupportReading:
    """The log-probabilities of support, and the passage and sentence that decided."""

    logits: Floats
    passage: int = 0
    quote: str = ""


Portions = Callable[[Material, str, int], Iterator[tuple[Portion, bool]]]
"""The portions of evidence to read for a text within so many tokens, and whether each is from a
passage alone."""


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
        return [self._support_score(reading) for reading in self.support_margins(pairs)]

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return [self._sufficiency_score(margin) for margin in self.sufficiency_margins(pairs)]

    def answers(self, question: str, passages: Sequence[str]) -> list[float | None]:
        """For each passage, in order, the log-odds that it alone answers the question; `None` if it
        cannot be read."""
        margins = self.sufficiency_margins([Pair(question, (passage,)) for passage in passages])
        return [None if isinstance(result, str) else result[0] for result in margins]

    def sentences(self, text: str, sentences: Sequence[str]) -> list[float]:
        """For each sentence, in order, the probability that it answers the question or supports the
        claim; 0 if it cannot be read."""
        texts = [clean(text), *(f"{clean(sentence)} " for sentence in sentences)]
        ids, *parts = self.encoder.tokens(texts)
        room = min(_ROOM, self.card.window - len(ids) - MARKS)
        if room < _ROOM // 4:
            return [0.0] * len(sentences)
        parts = [part[:room] for part in parts]
        groups = list(_groups([len(part) for part in parts], room))
        reads = [Read(ids, [token for n in group for token in parts[n]]) for group in groups]
        chances = [0.0] * len(sentences)
        for group, marks in zip(groups, self.encoder.judge(reads, "sufficiency")[1], strict=True):
            odds = means(marks, [len(parts[n]) for n in group])
            for n, value in zip(group, odds, strict=True):
                chances[n] = 1 / (1 + math.exp(-value)) if parts[n] else 0.0
        return chances

    def support_margins(self, pairs: Sequence[Pair]) -> list[SupportReading | str]:
        """The result for each pair, or why it was not judged. In each round, every pair that is
        still undecided has its next portion read."""
        inputs = self._inputs(
            pairs, lambda pair: f"{pair.question} {pair.text}".strip(), _support_portions
        )
        best: list[SupportReading | str] = [
            source if isinstance(source, str) else SupportReading(np.zeros(3)) for source in inputs
        ]
        undecided = {n: source for n, source in enumerate(inputs) if not isinstance(source, str)}
        first_round = True
        while undecided:
            batch = {
                n: model_input
                for n, source in undecided.items()
                if (model_input := next(source, None))
            }
            reads = [model_input.read for model_input in batch.values()]
            logits, marks = self.encoder.judge(reads, "support")
            for n, row, token_odds in zip(batch, logits, marks, strict=True):
                before = best[n]
                if not np.isfinite(row).all():
                    best[n] = NO_NUMBER
                elif first_round or (not isinstance(before, str) and _decides(row, before.logits)):
                    best[n] = SupportReading(row, *_quoted(batch[n].portion, token_odds))
            undecided = {n: undecided[n] for n in batch if self._unsure(best[n])}
            first_round = False
        return best

    def sufficiency_margins(self, pairs: Sequence[Pair]) -> list[tuple[float, int] | str]:
        """The margin of "enough", averaged over all passages together and the best passage alone,
        and the index of the best passage."""
        read_before = [_read_before(pair, self.id) for pair in pairs]
        inputs = self._inputs(pairs, lambda pair: pair.text, _sufficiency_portions)
        unread = [
            (n, model_input)
            for n, source in enumerate(inputs)
            if not isinstance(source, str)
            for model_input in source
            if not (model_input.alone and model_input.portion.passage in read_before[n])
        ]
        logits, _ = self.encoder.judge([each.read for _, each in unread], "sufficiency")
        margins = margin(logits, ENOUGH) if unread else np.zeros(0)
        readings = [
            [(value, True, passage) for passage, value in by_passage.items()]
            for by_passage in read_before
        ]
        for (n, each), value in zip(unread, margins, strict=True):
            readings[n].append((float(value), each.alone, each.portion.passage))
        return [
            source if isinstance(source, str) else _combined(pair_readings)
            for source, pair_readings in zip(inputs, readings, strict=True)
        ]

    def _support_score(self, reading: SupportReading | str) -> SupportScore:
        if isinstance(reading, str):
            return SupportScore(unchecked=reading)
        supported, contradicted = split(reading.logits, self._calibration("support"))
        rest = 1 - supported - contradicted
        return SupportScore(
            supported, contradicted, rest, reading.passage, tier=self.tier, quote=reading.quote
        )

    def _sufficiency_score(self, result: tuple[float, int] | str) -> SufficiencyScore:
        if isinstance(result, str):
            return SufficiencyScore(unchecked=result)
        value, passage = result
        enough = float(self._calibration("sufficiency").probability(np.array([value]))[0])
        return SufficiencyScore(enough, passage, tier=self.tier)

    def _calibration(self, question: str) -> Calibration:
        return read_calibration(self.card.raw, question)

    def _unsure(self, reading: SupportReading | str) -> bool:
        calibration = self._calibration("support")
        return not isinstance(reading, str) and split(reading.logits, calibration)[0] < _SURE

    def _inputs(
        self, pairs: Sequence[Pair], text_of: Callable[[Pair], str], portions_of: Portions
    ) -> list[Iterator[_ModelInput] | str]:
        """For each pair, the inputs to read in order, or why it cannot be read."""
        encoder = self.encoder
        texts = [clean(text_of(pair)) for pair in pairs]
        materials: dict[tuple[str, ...], Material] = {}
        inputs: list[Iterator[_ModelInput] | str] = []
        for pair, text, ids in zip(pairs, texts, encoder.tokens(texts), strict=True):
            reason = unreadable(pair, len(ids), self.card.window // 2, encoder.unknown in ids)
            if not reason and pair.evidence not in materials:
                materials[pair.evidence] = Material.of(pair.evidence, encoder.tokens)
            if reason := reason or materials[pair.evidence].unreadable:
                inputs.append(reason)
                continue
            room = self.card.window - len(ids) - MARKS
            inputs.append(_model_inputs(ids, portions_of(materials[pair.evidence], text, room)))
        return inputs


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


def _model_inputs(
    text: Sequence[int], evidence: Iterator[tuple[Portion, bool]]
) -> Iterator[_ModelInput]:
    return (_ModelInput(Read(text, portion.tokens), portion, alone) for portion, alone in evidence)


def _support_portions(material: Material, text: str, room: int) -> Iterator[tuple[Portion, bool]]:
    return ((portion, False) for portion in portions(material, text, min(_ROOM, room)))


def _sufficiency_portions(
    material: Material, text: str, room: int
) -> Iterator[tuple[Portion, bool]]:
    """All portions of the passages together, then portions of the nearest passages alone."""
    together = portions(material, text, min(_ROOM_TOGETHER, room))
    yield from ((portion, False) for portion in together)
    passages = list(material.alone().values())
    if len(passages) == 1:
        return
    words = word_prefixes(text)
    passages.sort(key=lambda passage: -len(words & word_prefixes(" ".join(passage.texts))))
    for passage in passages[:_ALONE]:
        alone = portions(passage, text, min(_ROOM, room))
        yield from ((portion, True) for portion in alone)


def _read_before(pair: Pair, verifier: str) -> dict[int, float]:
    """The margins of passages alone that this verifier read for the search, if there are
    several passages."""
    if pair.alone_by != verifier or len(pair.evidence) == 1:
        return {}
    return {n: value for n, value in enumerate(pair.alone) if value is not None}


def _combined(readings: Sequence[tuple[float, bool, int]]) -> tuple[float, int] | str:
    """The mean of the best passage alone and of all together, and which passage is the best. A
    reading is its margin, whether it was of a passage alone, and the passage."""
    if not all(np.isfinite(value) for value, _, _ in readings):
        return NO_NUMBER
    best, _, passage = max(readings, key=lambda reading: (reading[1], reading[0]))
    together = max(value for value, alone, _ in readings if not alone)
    return (best + together) / 2, passage


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
