"""Selects which evidence a verifier reads: the pieces nearest to the claim or question first.

Evidence longer than a window is never truncated. It is read in portions, nearest first, as long as
the claim is undecided and a piece remains that shares at least half as much as the nearest. A word
in more than 64 pieces does not distinguish them and causes no further portion.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from suffice.models.verifier import Pair
from suffice.text.digest import choose, nearness, pieces, shorter, word_prefixes
from suffice.text.language import unknown_language
from suffice.text.tables import flatten

Tokens = Callable[[Sequence[str]], list[list[int]]]
NO_NUMBER = "The model returned no number."
_PICTURES = re.compile("[\u2600-\u27bf\ufe0f\U0001f000-\U0001faff]")
_RULER = re.compile(r"([^\w\s])\1{3,}")
_PAGE_BREAKS = re.compile("[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
# Terminal colours and invisible characters: control characters, soft hyphens, direction marks.
_UNSEEN = re.compile(
    "\x1b\\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff]"
)
_WORTH = 0.5
_RARE = 1 / 64
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Material:
    """Evidence split into pieces, with the text, tokens, words and passage of each.

    Passages in a language that the models do not read are set aside; `aside` names the languages.
    """

    texts: tuple[str, ...]
    tokens: tuple[tuple[int, ...], ...]
    words: tuple[frozenset[str], ...]
    owners: tuple[int, ...]
    aside: tuple[str, ...] = ()

    @classmethod
    def of(cls, passages: Sequence[str], tokens: Tokens) -> Material:
        cut: list[tuple[str, int]] = []
        aside: dict[str, None] = {}
        for owner, passage in enumerate(passages):
            text = clean(flatten(passage))  # JSON can escape half a surrogate pair
            if language := unknown_language(text):
                aside[language] = None
            else:
                cut += ((piece, owner) for piece in _pieces(text))
        parts = list(_encoded(cut, tokens))
        return cls(
            tuple(piece for piece, _, _ in parts),
            tuple(ids for _, ids, _ in parts),
            tuple(word_prefixes(piece) for piece, _, _ in parts),
            tuple(owner for _, _, owner in parts),
            tuple(aside),
        )

    @property
    def unreadable(self) -> str:
        """Why there is nothing to read; empty if there is."""
        if self.texts:
            return ""
        if self.aside:
            return f"The model only reads English; the evidence is in {' and '.join(self.aside)}."
        return "There is no evidence."

    def alone(self) -> dict[int, Material]:
        """Each passage alone. Its pieces keep their passage number."""
        places: dict[int, list[int]] = {}
        for place, owner in enumerate(self.owners):
            places.setdefault(owner, []).append(place)
        return {owner: self._only(kept) for owner, kept in places.items()}

    def _only(self, kept: Sequence[int]) -> Material:
        return Material(
            tuple(self.texts[n] for n in kept),
            tuple(self.tokens[n] for n in kept),
            tuple(self.words[n] for n in kept),
            tuple(self.owners[n] for n in kept),
        )


@dataclass(frozen=True, slots=True)
class Portion:
    """The evidence for one model run."""

    texts: tuple[str, ...]
    tokens: tuple[int, ...]
    passage: int
    sizes: tuple[int, ...]
    """The token count of each text."""
    owners: tuple[int, ...]
    """The passage of each text."""


def _pieces(text: str) -> list[str]:
    return pieces(text if text.endswith("\n") else f"{text}\n")


def _encoded(
    cut: Sequence[tuple[str, int]], tokens: Tokens
) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """Pieces with their tokens. A piece with too many tokens is split further."""
    for (text, owner), ids in zip(cut, tokens([text for text, _ in cut]), strict=True):
        if len(ids) > _LONGEST and len(text) > 1:
            longest = max(1, len(text) * _LONGEST // len(ids))
            yield from _encoded([(part, owner) for part in shorter(text, longest)], tokens)
        elif ids:
            yield text, tuple(ids), owner


def clean(text: str) -> str:
    """Normalise text for any tokenizer.

    Lone surrogates become question marks, and variants of letters or digits (full width, circled)
    become plain. Images and invisible characters are removed, and long rulers are shortened.
    """
    whole = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8"))
    seen = _RULER.sub(r"\1\1\1", _UNSEEN.sub("", _PAGE_BREAKS.sub("\n", whole)))
    return seen if seen.isascii() else _PICTURES.sub("", seen)


def portions(material: Material, text: str, room: int) -> Iterator[Portion]:
    """The evidence in portions of at most `room` tokens, or in one portion if it fits."""
    sizes = [len(ids) for ids in material.tokens]
    near = nearness(material.words, word_prefixes(text))
    if sum(sizes) <= room:
        yield _portion(material, range(len(sizes)), near)
        return
    near = [value if size <= room else 0.0 for value, size in zip(near, sizes, strict=True)]
    least = max(_WORTH * max(near), _RARE)
    while True:
        chosen = choose(near, sizes, room)
        yield _portion(material, chosen, near)
        for place in chosen:
            near[place] = 0.0
        left = max(near)
        if not left or left < least:
            return


def _portion(material: Material, chosen: Sequence[int], near: Sequence[float]) -> Portion:
    ids = [token for place in chosen for token in material.tokens[place]]
    nearest = max(chosen, key=lambda place: near[place], default=0)
    return Portion(
        tuple(material.texts[place] for place in chosen),
        tuple(ids),
        material.owners[nearest] if material.owners else 0,
        tuple(len(material.tokens[place]) for place in chosen),
        tuple(material.owners[place] for place in chosen),
    )


def unreadable(pair: Pair, length: int, longest: int, unknown: bool = False) -> str:
    """Why a pair cannot be judged, whatever its evidence; empty if it can. To a model, all unknown
    words look the same."""
    statement = clean(pair.text)
    if not any(map(str.isalnum, statement)):
        return "There is nothing to judge."
    if not any(char.isalnum() for text in pair.evidence for char in text):
        return "There is no evidence."
    if length > longest:
        return (
            f"The claim with its question has {length} tokens; the model reads {longest}. "
            "Check it sentence by sentence."
        )
    if reason := _foreign_claim(statement):
        return reason
    if unknown:
        return "The text contains a word or character that the model does not know."
    return ""


def foreign(pair: Pair) -> str:
    """Why an English-only model cannot judge a pair, because a side is in another language; empty
    if it can."""
    if reason := _foreign_claim(clean(pair.text)):
        return reason
    languages = [unknown_language(text) for text in pair.evidence]
    if languages and all(languages):
        return f"The model only reads English; the evidence is in {languages[0]}."
    return ""


def _foreign_claim(text: str) -> str:
    language = unknown_language(text)
    return f"The model only reads English; this is in {language}." if language else ""
