"""The tokenizer of token-based models, and batches of similar length."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from string import punctuation
from typing import Any

from suffice.deadline import check
from suffice.errors import ExtraMissing, ModelDamaged
from suffice.models.session import state_of

_NORMALIZER = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
_WHITE = "\t\n\r"
_REMOVED = frozenset(("Cc", "Cf", "Co"))
_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
# A text of ordinary words repeats most of them; one of random strings must not fill the memory.
_MOST_WORDS = 1 << 16


class _Written(dict[int, str]):
    """What each character becomes: in lower case and without accents, alone if it is a token."""

    def __missing__(self, point: int) -> str:
        self[point] = made = _written(chr(point))
        return made


def _written(char: str) -> str:
    if char in _WHITE:
        return " "
    if char == "\ufffd" or unicodedata.category(char) in _REMOVED:
        return ""
    if char.isspace():
        return " "
    apart = any(first <= ord(char) <= last for first, last in _IDEOGRAPHS)
    plain = "".join(
        one.lower()
        for one in unicodedata.normalize("NFD", char)
        if unicodedata.category(one) != "Mn"
    )
    return f" {plain} " if apart else "".join(f" {p} " if _alone(p) else p for p in plain)


def _alone(char: str) -> bool:
    return char in punctuation or unicodedata.category(char).startswith("P")


_WRITTEN = _Written()


@dataclass(frozen=True)
class Encoding:
    """The tokens of a text."""

    text: str
    ids: list[int]
    _tokenizer: WordPiece

    @cached_property
    def offsets(self) -> list[tuple[int, int]]:
        """Where each token stands in the text, without special tokens."""
        return list(self._tokenizer.places(self.text))


class WordPiece:
    """Splits words into the longest pieces that the vocabulary has. Thread-safe."""

    def __init__(
        self, vocabulary: Mapping[str, int], unknown: str, prefix: str, longest: int
    ) -> None:
        self._vocabulary = vocabulary
        self._unknown = vocabulary[unknown]
        self._prefix = prefix
        self._longest = longest
        self._known: dict[str, tuple[tuple[int, int], ...]] = {}

    @classmethod
    def described(cls, given: Mapping[str, Any]) -> WordPiece | None:
        """The tokenizer that a tokenizer.json describes; `None` if it is of another kind."""
        model = given["model"]
        same = (
            model.get("type") == "WordPiece"
            and given["normalizer"] == _NORMALIZER
            and given["pre_tokenizer"] == {"type": "BertPreTokenizer"}
            and _marks_ends(given["post_processor"])
            and all(added["special"] for added in given["added_tokens"])
        )
        if not same:
            return None
        return cls(
            model["vocab"],
            model["unk_token"],
            model["continuing_subword_prefix"],
            model["max_input_chars_per_word"],
        )

    def token_to_id(self, token: str) -> int | None:
        return self._vocabulary.get(token)

    def encode(self, text: str, add_special_tokens: bool = True) -> Encoding:
        words = text.translate(_WRITTEN).split()
        ids = [piece for word in words for piece, _ in self._pieces(word)]
        if add_special_tokens:
            ids = [self._vocabulary["[CLS]"], *ids, self._vocabulary["[SEP]"]]
        return Encoding(text, ids, self)

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool = True) -> list[Encoding]:
        return [self.encode(text, add_special_tokens) for text in texts]

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of each token in the text as it was given."""
        for word, at in _placed(text):
            start = 0
            for _, length in self._pieces(word):
                end = start + length
                yield at[start], at[end - 1] + 1
                start = end

    def _pieces(self, word: str) -> tuple[tuple[int, int], ...]:
        """The id and length of each piece of a word."""
        found = self._known.get(word)
        if found is None:
            found = tuple(self._cut(word))
            if len(self._known) < _MOST_WORDS:
                self._known[word] = found
        return found

    def _cut(self, word: str) -> list[tuple[int, int]]:
        if len(word) > self._longest:
            return [(self._unknown, len(word))]
        pieces: list[tuple[int, int]] = []
        start = 0
        while start < len(word):
            prefix = self._prefix if start else ""
            for end in range(len(word), start, -1):
                known = self._vocabulary.get(prefix + word[start:end])
                if known is not None:
                    pieces.append((known, end - start))
                    start = end
                    break
            else:
                return [(self._unknown, len(word))]
        return pieces


def _placed(text: str) -> Iterator[tuple[str, list[int]]]:
    """The words of a text, with the place of each of their characters."""
    word: list[str] = []
    at: list[int] = []
    for place, char in enumerate(text):
        for one in _WRITTEN[ord(char)]:
            if one != " ":
                word.append(one)
                at.append(place)
            elif word:
                yield "".join(word), at
                word, at = [], []
    if word:
        yield "".join(word), at


def _marks_ends(given: Mapping[str, Any]) -> bool:
    """Whether a single text becomes [CLS] text [SEP]."""
    order = [part.get("SpecialToken", part.get("Sequence"))["id"] for part in given["single"]]
    return given["type"] == "TemplateProcessing" and order == ["[CLS]", "A", "[SEP]"]


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
