"""Converts texts to unit vectors with an ONNX session.

The vector of a text does not depend on other texts in the call: padding is masked, and quantisation
is per token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.errors import ModelDamaged
from suffice.models.tokens import batches, load_tokenizer

Vectors = NDArray[np.float32]
TokenIds = NDArray[np.int64]
Ids = Sequence[int]
Pool = Callable[[Vectors, TokenIds], Vectors]


class Embedder(Protocol):
    """Converts texts to unit vectors of a fixed size."""

    @property
    def id(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def window(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors: ...

    def token_ends(self, text: str) -> Sequence[int]: ...


@dataclass(frozen=True)
class OnnxEmbedder:
    """An encoder exported to ONNX, with its tokenizer. The session is opened on first use."""

    id: str
    dimension: int
    window: int
    model: Path
    tokenizer_file: Path
    threads: int = 0
    pool: Pool | None = None
    """Combines token vectors into text vectors, for graphs that do not do it themselves."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text. Texts that exceed the window are embedded in parts and
        pooled."""
        parts = [list(self._windows(ids)) for ids in self._encode(texts)]
        flat = [part for windows in parts for part in windows]
        return pooled_vectors(parts, self._run(flat), [len(part) for part in flat])

    def token_ends(self, text: str) -> Sequence[int]:
        """The end offset of each token, in characters."""
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        return [end for _, end in encoding.offsets]

    @cached_property
    def tokenizer(self) -> Any:
        return load_tokenizer(self.tokenizer_file)

    @cached_property
    def session(self) -> Any:
        from suffice.models.session import open_session

        return open_session(self.model, self.threads)

    @cached_property
    def _inputs(self) -> list[str]:
        names = [entry.name for entry in self.session.get_inputs()]
        unknown = set(names) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown:
            raise ModelDamaged(
                f"{self.model} requires unsupported inputs: {', '.join(sorted(unknown))}.",
                remedy="Export it with only input_ids, attention_mask and token_type_ids.",
            )
        return names

    @cached_property
    def _marks(self) -> tuple[Ids, Ids]:
        """The ids of the special tokens before and after a text."""
        around = self.tokenizer.encode("a").ids
        inside = self.tokenizer.encode("a", add_special_tokens=False).ids
        start = around.index(inside[0])
        return around[:start], around[start + len(inside) :]

    def _encode(self, texts: Sequence[str]) -> list[Ids]:
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def _windows(self, ids: Ids) -> Iterator[Ids]:
        before, after = self._marks
        room = self.window - len(before) - len(after)
        for start in range(0, max(len(ids), 1), room):
            yield [*before, *ids[start : start + room], *after]

    def _run(self, parts: Sequence[Ids]) -> Vectors:
        vectors = np.zeros((len(parts), self.dimension), dtype=np.float32)
        for rows in batches([len(part) for part in parts]):
            ids, mask = _padded([parts[row] for row in rows])
            vectors[rows] = self.infer(ids, mask)
        return vectors

    def prepare(self, texts: Sequence[str]) -> list[tuple[TokenIds, TokenIds]]:
        """The batches (ids and mask) of these texts, for `infer`."""
        parts = [part for ids in self._encode(texts) for part in self._windows(ids)]
        return [
            _padded([parts[row] for row in rows]) for rows in batches([len(part) for part in parts])
        ]

    def infer(self, ids: TokenIds, mask: TokenIds) -> Vectors:
        """Run the session on one batch."""
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output: Vectors = self.session.run(None, {name: inputs[name] for name in self._inputs})[0]
        return unit(self.pool(output, mask)) if self.pool else output


def pooled_vectors(
    parts: Sequence[Sequence[object]], vectors: Vectors, weights: Sequence[float]
) -> Vectors:
    """One vector per text from the vectors of its parts, weighted by length."""
    owners = [row for row, windows in enumerate(parts) for _ in windows]
    summed = np.zeros((len(parts), vectors.shape[1]), dtype=np.float32)
    np.add.at(summed, owners, vectors * np.array(weights, dtype=np.float32)[:, None])
    return unit(summed)


def windows(text: str, ends: Sequence[int], room: int) -> list[str]:
    """Split a text into parts of at most `room` tokens, for models that would truncate it."""
    cuts = [0, *(ends[i - 1] for i in range(room, len(ends), room)), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def mean_pool(tokens: Vectors, mask: TokenIds) -> Vectors:
    weights = mask[:, :, None].astype(np.float32)
    mean: Vectors = (tokens * weights).sum(axis=1) / weights.sum(axis=1)
    return mean


def first_token(tokens: Vectors, mask: TokenIds) -> Vectors:
    return tokens[:, 0]


def _padded(parts: Sequence[Ids]) -> tuple[TokenIds, TokenIds]:
    ids = np.zeros((len(parts), max(map(len, parts))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, part in enumerate(parts):
        ids[row, : len(part)] = part
        mask[row, : len(part)] = 1
    return ids, mask


def unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled
