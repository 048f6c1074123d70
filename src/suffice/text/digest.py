"""Shortens evidence that exceeds a model's window to the pieces closest to the claim or question.

This must be fast (a megabyte in a tenth of a second). A regular expression splits the text into
sentences, and each sentence is scored by the words it shares with the claim; rarer words weigh
more. Training and inference use the same functions, so that a model reads evidence in the form it
was trained on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_PIECE = re.compile(r"[^.!?\n]+(?:[.!?](?![\s\"')\]])[^.!?\n]*)*[.!?]*[\"')\]]*\s*|[.!?\s]+")
_WORD = re.compile(r"\d+|[^\W\d_]{3,}")
_STEM = 6
_LONGEST = 600


def pieces(text: str) -> list[str]:
    """Split a text into sentence-like pieces. Joined together, they equal the text."""
    found: list[str] = []
    for match in _PIECE.finditer(text):
        piece = match.group()
        if found and not piece.strip(" \t\r\n.!?"):
            found[-1] += piece
        elif len(piece) > _LONGEST:
            found += shorter(piece, _LONGEST)
        else:
            found.append(piece)
    return found


def shorter(piece: str, longest: int) -> list[str]:
    """Split a piece into parts of at most `longest` characters, at spaces where possible."""
    cut: list[str] = []
    start = 0
    while len(piece) - start > longest:
        at = piece.rfind(" ", start + longest // 2, start + longest) + 1 or start + longest
        cut.append(piece[start:at])
        start = at
    return [*cut, piece[start:]]


def word_prefixes(text: str) -> frozenset[str]:
    """The keys used to compare texts: numbers, and the first six letters of each word."""
    return frozenset(word[:_STEM] for word in _WORD.findall(text.lower()))


def nearness(held: Sequence[frozenset[str]], asked: frozenset[str]) -> list[float]:
    """How much each piece shares with the question. A word found in few pieces counts more."""
    shared = [words & asked for words in held]
    counts = Counter(word for words in shared for word in words)
    return [sum(1 / counts[word] for word in sorted(words)) for words in shared]


def choose(near: Sequence[float], sizes: Sequence[int], room: int) -> list[int]:
    """The indices, in order, of pieces that fit into `room`: the closest pieces first, then the
    first piece and the neighbours of the closest, which pronouns may refer to. Without any close
    piece, take pieces from the start."""
    ranked = sorted((n for n, value in enumerate(near) if value), key=lambda n: (-near[n], n))
    beside = [m for n in ranked for m in (n - 1, n + 1) if 0 <= m < len(near)]
    rest = [] if ranked else range(len(near))
    chosen: set[int] = set()
    used = 0
    for place in dict.fromkeys([*ranked, *([0] if near else []), *beside, *rest]):
        if used + sizes[place] <= room:
            chosen.add(place)
            used += sizes[place]
    return sorted(chosen)


def digest(evidence: str, text: str, room: int) -> str:
    """The evidence, shortened to at most `room` characters if it is longer."""
    if len(evidence) <= room:
        return evidence
    cut = pieces(evidence)
    near = nearness([word_prefixes(piece) for piece in cut], word_prefixes(text))
    return "".join(cut[n] for n in choose(near, [len(piece) for piece in cut], room))
