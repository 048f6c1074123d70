"""Proper names: runs of capitalised words, with extra care at the start of a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from suffice.text.literals.values import Literal, LiteralKind
from suffice.text.words import STOP_WORDS

_CAPITAL = r"(?:[A-ZÀ-ÖØ-Þ](?:[\w'’]{0,30}|\.)(?:-[A-Za-z][\w'’]{0,30}){0,3})"
_RUN = re.compile(
    rf"(?<![\w'’@.-]){_CAPITAL}(?:[ ](?:(?:of|de|la|van|von|der|del|da|di|bin|al|the|"
    rf"&)[ ]){{0,2}}{_CAPITAL}){{0,7}}"
)
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\S+")
_NO_NAMES = STOP_WORDS | frozenset(
    """i mr mrs ms dr prof sir yes no hello hi thanks thank please also however therefore moreover
    furthermore additionally finally first second third according although despite meanwhile based
    overall today yesterday tomorrow note see""".split()
)


def names(text: str, sentences: Sequence[tuple[int, int]]) -> Iterator[Literal]:
    """The names in a text. At the start of a sentence, a single word must also occur elsewhere."""
    runs: list[tuple[int, int, bool]] = []
    inner: set[str] = set()
    for start, end in sentences:
        first = _first_letter(text, start, end)
        shouting = text[start:end].isupper()
        for found in _RUN.finditer(text, start, end):
            opening = found.start() == first or text[found.start() - 2 : found.start()] in (
                ": ",
                ". ",
            )
            if shouting:
                continue
            runs.append((found.start(), found.end(), opening))
            if not opening:
                inner.update(_key(found[0]).split())
    for start, end, opening in runs:
        yield from _trimmed(text, start, end, opening, inner)


def _trimmed(text: str, start: int, end: int, opening: bool, inner: set[str]) -> Iterator[Literal]:
    words = [(start + m.start(), start + m.end()) for m in _WORD.finditer(text[start:end])]
    while words and _key(text[slice(*words[0])]) in _NO_NAMES:
        words.pop(0)
        opening = False
    if not words:
        return
    start, end = words[0][0], words[-1][1]
    while end > start and text[end - 1] in ".'’-":
        end -= 1
    for possessive in ("'s", "’s"):
        if text[start:end].endswith(possessive):
            end -= 2
    key = _key(text[start:end])
    lone = " " not in key and not (end - start > 1 and text[start:end].isupper())
    if len(key) < 2 or (lone and opening and key not in inner):
        return
    yield Literal(LiteralKind.NAME, text[start:end], start, end, key=key)


def _key(written: str) -> str:
    return re.sub(r"['’]s?$", "", written.lower().replace("’", "'")).rstrip(".")


def _first_letter(text: str, start: int, end: int) -> int:
    found = _LETTER.search(text, start, end)
    return found.start() if found else start
