"""Rows as token ids, with what is to be learned of each: made once, read by every training.

All bases share one vocabulary, so the ids hold for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from .rows import Label, Row, Span, Task

WINDOW = 512
UNKNOWN = -1
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Encoded:
    """`ids` and `marks` lie end to end, row after row; `starts` says where each begins, `parts` how
    many of its tokens come before the evidence. A mark is 1 for a token of a span, 0 for one of
    none, UNKNOWN where that is not told. `written` tells the written rows."""

    ids: Array
    marks: Array
    starts: Array
    parts: Array
    task: Array
    label: Array
    written: Array

    @classmethod
    def of(cls, tokenizer: Tokenizer, rows: Sequence[Row]) -> Encoded:
        ids, marks, parts = [], [], []
        start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        for row in rows:
            asked = f"{row.question} {row.text}" if row.question else row.text
            encoding = tokenizer.encode(asked, add_special_tokens=False)
            evidence = tokenizer.encode(row.evidence, add_special_tokens=False)
            first, room = encoding.ids[-(WINDOW // 2) :], WINDOW - 3
            second = evidence.ids[: room - len(first)]
            ids.append(np.array([start, *first, end, *second, end], np.uint16))
            shift = len(row.question) + 1 if row.question else 0
            wrong = _wrong(row, encoding.offsets[-(WINDOW // 2) :], shift)
            pointed = _pointed(row, evidence.offsets[: len(second)])
            marks.append(np.array([UNKNOWN, *wrong, UNKNOWN, *pointed, UNKNOWN], np.int8))
            parts.append(len(first) + 2)
        lengths = np.array([len(one) for one in ids], np.int64)
        return cls(
            np.concatenate(ids),
            np.concatenate(marks),
            np.concatenate([[0], np.cumsum(lengths)]),
            np.array(parts, np.int32),
            np.array([int(row.task) for row in rows], np.int8),
            np.array([int(row.label) for row in rows], np.int8),
            np.array([row.origin.startswith("written") for row in rows]),
        )

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def lengths(self) -> Array:
        return np.diff(self.starts)

    def save(self, path: Path) -> None:
        np.savez(path, **{one.name: getattr(self, one.name) for one in fields(self)})

    @classmethod
    def load(cls, paths: Sequence[Path]) -> Encoded:
        """The rows of several files, one after another."""
        held = [dict(np.load(path)) for path in paths]
        joined = {
            one.name: np.concatenate([part[one.name] for part in held])
            for one in fields(cls)
            if one.name != "starts"
        }
        lengths = np.concatenate([np.diff(part["starts"]) for part in held])
        return cls(starts=np.concatenate([[0], np.cumsum(lengths)]), **joined)

    def inputs(self, rows: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Ids, segments and marks of the rows' tokens, end to end; where in its row each token
        stands; and where the rows begin, with the end of the last."""
        lengths = self.lengths[rows]
        bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        owner = np.repeat(np.arange(len(rows)), lengths)
        places = np.arange(bounds[-1]) - bounds[owner]
        tokens = self.starts[rows][owner] + places
        types = (places >= self.parts[rows][owner]).astype(np.int64)
        return self.ids[tokens].astype(np.int64), types, self.marks[tokens], places, bounds


def _wrong(row: Row, offsets: Sequence[Span], shift: int) -> Sequence[int]:
    """Supported words are not wrong; of a wrong claim with known spans, those in them are."""
    if row.task is Task.SUFFICIENCY or not (row.wrong or row.label is Label.SUPPORTED):
        return [UNKNOWN] * len(offsets)
    return [
        UNKNOWN
        if start < shift
        else int(any(a < end - shift and start - shift < z for a, z in row.wrong))
        for start, end in offsets
    ]


def _pointed(row: Row, offsets: Sequence[Span]) -> Sequence[int]:
    """Where nothing answers, no sentence does; else the sentences that were named."""
    if row.points:
        return [int(any(a < end and start < z for a, z in row.points)) for start, end in offsets]
    nothing = row.label is Label.NOT_MENTIONED and row.origin.startswith("written")
    return [0 if nothing else UNKNOWN] * len(offsets)


def load_tokenizer(base: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer
