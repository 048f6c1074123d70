"""Removes near copies, so that each text counts once.

Two passages are copies if they share most of their three-word sequences and differ in nothing that
changes the meaning. No model is used. "3 days" and "5 days" in the same sentence are a conflict,
not a copy.

The work is nearly linear: a passage is compared only with kept passages that share one of its
rarest sequences.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from suffice.settings import DiversitySettings
from suffice.switch import rule
from suffice.types import Evidence, Exclusion, Passage, Retrieved

Shingle = tuple[str, ...]

_RUN = 3
# A sequence in this many passages is a stock phrase and does not indicate copies.
_CROWD = 50
_WORD = re.compile(r"\w+")
_NUMBER_WORDS = frozenset(
    """zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand million billion half twice double first second third fourth""".split()
)
# Adding or removing one of these words adds an exception or reverses the meaning.
_NEGATING = frozenset(
    """no not never none nobody nothing neither nor without except unless only cannot t""".split()
)
# Replacing or inserting one of these words changes the meaning of a sentence.
_TURNING = _NEGATING | frozenset(
    """before after until since above below over under more less fewer minimum maximum least most
    may must shall should can might always all any some allowed forbidden permitted prohibited
    approved rejected accepted refused includes excludes included excluded including excluding
    increased decreased increase decrease rose fell earlier later valid invalid required optional
    true false yes""".split()
)
_PUT_IN = 3


@dataclass(frozen=True, slots=True)
class _Wording:
    """The words of a passage, normalised for comparison."""

    words: tuple[str, ...]
    names: frozenset[str]
    shingles: frozenset[Shingle]

    @classmethod
    def of(cls, passage: Passage) -> _Wording:
        plain = unicodedata.normalize("NFKC", passage.text)
        written = _WORD.findall(plain)
        words = tuple(word.casefold() for word in written)
        runs = [words[n : n + _RUN] for n in range(max(len(words) - _RUN + 1, 1))]
        names = {word.casefold() for word in written if word[0].isupper()}
        return cls(words, frozenset(names), frozenset(runs))

    @property
    def numbers(self) -> list[str]:
        return [word for word in self.words if word[0].isdigit() or word in _NUMBER_WORDS]


@dataclass(slots=True)
class _KeptPassages:
    """The passages kept so far, indexed by their rarest sequences."""

    least: float
    counts: Counter[Shingle]
    kept: list[tuple[Retrieved, _Wording]] = field(default_factory=list)
    places: dict[Shingle, list[int]] = field(default_factory=dict)

    def copied(self, wording: _Wording) -> tuple[Passage, float] | None:
        """The kept passage that this is a copy of, and how much of their wording they share."""
        held = [self.places.get(run, []) for run in self._rarest(wording)]
        near = {n for places in held if len(places) <= _CROWD for n in places}
        for n in sorted(near):
            item, other = self.kept[n]
            shared = _overlap(wording.shingles, other.shingles)
            if shared >= self.least and not _differ(wording, other):
                return item.passage, shared
        return None

    def keep(self, item: Retrieved, wording: _Wording) -> None:
        for run in self._rarest(wording):
            self.places.setdefault(run, []).append(len(self.kept))
        self.kept.append((item, wording))

    def _rarest(self, wording: _Wording) -> list[Shingle]:
        """The rarest sequences of a text, so many that any text that shares `least` of the wording
        has at least one of them."""
        total = len(wording.shingles)
        ranked = sorted(wording.shingles, key=lambda run: (self.counts[run], run))
        shared = math.ceil(self.least * total - 1e-9)
        return ranked[: total - shared + 1]


@rule("copies", lambda evidence, settings=None: (evidence, ()))
def distinct(
    evidence: Evidence, settings: DiversitySettings | None = None
) -> tuple[Evidence, tuple[Exclusion, ...]]:
    """The evidence without near copies, and the removed copies with reasons.

    The first of several copies, which is also the best match, is kept.
    """
    settings = settings or DiversitySettings()
    wordings = [_Wording.of(passage) for passage in evidence.passages]
    counts = Counter(run for wording in wordings for run in wording.shingles)
    kept = _KeptPassages(settings.duplicate_overlap, counts)
    excluded: list[Exclusion] = []
    for item, wording in zip(evidence, wordings, strict=True):
        found = kept.copied(wording)
        if found is None:
            kept.keep(item, wording)
        else:
            excluded.append(Exclusion(item.passage, _reason(*found)))
    return replace(evidence, items=tuple(item for item, _ in kept.kept)), tuple(excluded)


def _reason(original: Passage, shared: float) -> str:
    return f"a near copy of {original.name} ({shared:.0%} of the wording), counted once"


def _overlap(first: frozenset[Shingle], second: frozenset[Shingle]) -> float:
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared)


def _differ(first: _Wording, second: _Wording) -> bool:
    """Whether two similar passages may state different things: they have different numbers,
    different names, or a word that changes the meaning. Additional text alone is not a
    difference."""
    if not (_within(first.numbers, second.numbers) or _within(second.numbers, first.numbers)):
        return True
    more, less = Counter(first.words), Counter(second.words)
    mine, theirs = set(more - less), set(less - more)
    if mine & first.names and theirs & second.names:
        return True
    return bool((mine | theirs) & _TURNING) and _meaning_changed(first.words, second.words)


def _meaning_changed(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether a word that changes the meaning differs. In a longer addition, only negations
    count."""
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    for tag, start, end, opening, last in matcher.get_opcodes():
        changed = {*first[start:end], *second[opening:last]}
        added = tag in ("insert", "delete") and max(end - start, last - opening) > _PUT_IN
        if tag != "equal" and changed & (_NEGATING if added else _TURNING):
            return True
    return False


def _within(few: Sequence[str], many: Sequence[str]) -> bool:
    """Whether the first sequence occurs in the second in the same order, possibly with gaps."""
    rest = iter(many)
    return all(number in rest for number in few)
