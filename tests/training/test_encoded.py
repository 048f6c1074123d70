"""Rows as token ids: the same as the verifier reads, with a mark for each token of a span."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from tests.training.tiny import TOKENIZER
from training.encoded import UNKNOWN, WINDOW, Encoded
from training.rows import Label, Row, Task

ROWS = [
    # "w3 w4" answers.
    Row(Task.SUFFICIENCY, "leave weeks", "w1 w2 w3 w4 w5", Label.SUPPORTED, "written+question",
        points=((6, 11),)),
    # "w8" is wrong, and the question is not judged.
    Row(Task.SUPPORT, "w7 w8 w9", "w1 w2", Label.NOT_SUPPORTED, "written+answer", "leave weeks",
        wrong=((3, 5),)),
    Row(Task.SUPPORT, "w7", "w1 w2", Label.NOT_MENTIONED, "written+statement"),
    Row(Task.SUPPORT, "w7", "w1 w2", Label.SUPPORTED, "snli"),
    Row(Task.SUPPORT, "w1 " * 400, "w2 " * 900, Label.UNLABELLED, "snli"),
]  # fmt: skip
MARKS = [
    [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 0, 0, 1, 1, 0, UNKNOWN],
    [UNKNOWN, UNKNOWN, UNKNOWN, 0, 1, 0, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN],
    [UNKNOWN, UNKNOWN, UNKNOWN, 0, 0, UNKNOWN],
    [UNKNOWN, 0, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN],
    [UNKNOWN] * WINDOW,
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_str(TOKENIZER)


def test_tokens_are_marked(tokenizer: Tokenizer) -> None:
    made = Encoded.of(tokenizer, ROWS)
    for place, marks in enumerate(MARKS):
        start, end = made.starts[place : place + 2]
        assert made.marks[start:end].tolist() == marks
    assert made.written.tolist() == [True, True, True, False, False]
    assert made.label.tolist() == [0, 3, 1, 0, 4]


def test_a_row_is_read_as_the_verifier_reads_it(tokenizer: Tokenizer) -> None:
    verifier = pytest.importorskip("verifier", reason="needs onnx, of the dev extra")
    made = Encoded.of(tokenizer, ROWS)
    ids, types, _, places, bounds = made.inputs(np.arange(len(ROWS)))
    for place, row in enumerate(ROWS):
        start, end = bounds[place : place + 2]
        own, kinds = verifier.tokens(tokenizer, row)
        assert ids[start:end].tolist() == own
        assert types[start:end].tolist() == kinds
        assert places[start:end].tolist() == list(range(len(own)))
    assert bounds[-1] == len(ids)


def test_files_are_read_one_after_another(tokenizer: Tokenizer, tmp_path: Path) -> None:
    for name, rows in (("a", ROWS[:2]), ("b", ROWS[2:])):
        Encoded.of(tokenizer, rows).save(tmp_path / f"{name}.npz")
    joined = Encoded.load([tmp_path / "a.npz", tmp_path / "b.npz"])
    whole = Encoded.of(tokenizer, ROWS)
    assert len(joined) == len(ROWS)
    for some in (np.arange(5), np.array([3, 1])):
        for one, other in zip(joined.inputs(some), whole.inputs(some), strict=True):
            np.testing.assert_array_equal(one, other)
