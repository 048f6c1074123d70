"""The tokenizer of token-based models, and batches of similar length."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from suffice.deadline import check
from suffice.errors import ExtraMissing, ModelDamaged
from suffice.models.session import state_of
from suffice.models.wordpiece import WordPiece

# Large enough to keep a few cores busy, small enough for their caches (256 to 1024 measured best).
_TOKENS_A_BATCH = 512


def load_tokenizer(path: Path) -> Any:
    """A tokenizer for single texts, without truncation and padding. A process loads a file once."""
    return _loaded(path, state_of(path))


def load_fast_tokenizer(path: Path) -> Any:
    """The same with the whole interface of the `tokenizers` library, for models from elsewhere."""
    return _loaded_fast(path, state_of(path))


@lru_cache(maxsize=8)
def _loaded(path: Path, state: object) -> Any:
    try:
        own = WordPiece.described(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        own = None  # the library says what is wrong with it
    return own or _loaded_fast(path, state)


@lru_cache(maxsize=8)
def _loaded_fast(path: Path, _state: object) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as problem:
        raise ExtraMissing(f"The tokenizer {path}", "hub") from problem
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as problem:  # the library raises no specific exceptions
        raise ModelDamaged(
            f"{path} cannot be loaded: {problem}",
            remedy="Save the model's fast tokenizer to that path.",
        ) from problem
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # a literal "[SEP]" in a text must not end it
    return tokenizer


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Batches of similar length, to minimise padding. The deadline is checked before each batch."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[row] * (len(batch) + 1) > _TOKENS_A_BATCH:
            check()
            yield batch
            batch = []
        batch.append(row)
    if batch:
        check()
        yield batch
