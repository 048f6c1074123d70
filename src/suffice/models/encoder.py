"""One ONNX cross-encoder: takes a claim or question with a portion of evidence, returns logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.models.calibration import Floats
from suffice.models.card import Card
from suffice.models.tokens import batches, load_tokenizer

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
