"""What a GGUF file says about itself: its metadata, and the tokenizer written there."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suffice.errors import ModelDamaged

Metadata = Mapping[str, Any]

# Type numbers of the format, each with its code for `struct`.
_SCALARS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
_STRING, _ARRAY = 8, 9


def read_metadata(path: Path, remedy: str) -> Metadata:
    """The key-value pairs at the head of the file."""
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            return _Cursor(data).metadata()
    except OSError as problem:
        raise ModelDamaged(f"{path} cannot be read: {problem.strerror}.", remedy=remedy) from None
    except (ValueError, KeyError, struct.error) as problem:
        raise ModelDamaged(f"{path} is not a whole GGUF file.", remedy=remedy) from problem


class _Cursor:
    """A place in the file, moving on with each value read."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def metadata(self) -> dict[str, Any]:
        if self.data[:4] != b"GGUF":
            raise ValueError("no GGUF mark")
        self.at = 8  # past the mark and the version
        self.scalar("Q")  # how many tensors
        pairs = self.scalar("Q")
        return {self.string(): self.value(self.scalar("I")) for _ in range(pairs)}

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            inner, count = self.scalar("I"), self.scalar("Q")
            return [self.value(inner) for _ in range(count)]
        return self.scalar(_SCALARS[kind])

    def scalar(self, code: str) -> Any:
        (value,) = struct.unpack_from(f"<{code}", self.data, self.at)
        self.at += struct.calcsize(f"<{code}")
        return value

    def string(self) -> str:
        length = self.scalar("Q")
        start, self.at = self.at, self.at + length
        if self.at > len(self.data):
            raise ValueError("cut short")
        return self.data[start : self.at].decode("utf-8")


def tokenizer_of(metadata: Metadata) -> Any:
    """SmolLM2's tokenizer, as llama.cpp reads it; no special token is read out of text."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokens, merges = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.merges"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    pairs = [tuple(merge.split(" ", 1)) for merge in merges]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    digits = pre_tokenizers.Digits(individual_digits=True)
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, level])
    return tokenizer
