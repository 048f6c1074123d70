"""Synonyms from the setting `search.synonyms`.

They prevent "client" in a question from being reported as missing if the documents say "customer".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from suffice.text.stems import stem


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Groups of words with the same meaning."""

    groups: tuple[tuple[str, ...], ...] = ()
    _by_word: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found: dict[str, tuple[str, ...]] = {}
        for group in self.groups:
            for word in group:
                key = _key(word)
                others = (*found.get(key, ()), *(other for other in group if _key(other) != key))
                found[key] = tuple(dict.fromkeys(others))
        object.__setattr__(self, "_by_word", found)

    @classmethod
    def read(cls, own: Sequence[str] = ()) -> Synonyms:
        """Read the setting: ["wfh, remote work", "pto, holiday"]."""
        groups = (tuple(filter(None, map(_word, line.split(",")))) for line in own)
        return cls(tuple(group for group in groups if len(group) > 1))

    def of(self, word: str) -> tuple[str, ...]:
        """The synonyms of a word, in any of its forms."""
        return self._by_word.get(_key(word), ())


def _key(word: str) -> str:
    return " ".join(map(stem, word.split()))


def _word(written: str) -> str:
    return " ".join(written.lower().split())
