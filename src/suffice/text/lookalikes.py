"""Replaces letters of other scripts that imitate Latin letters."""

from __future__ import annotations

import re

LOOKALIKES = str.maketrans("аеорсухіѕјһԁАВЕКМНОРСТХІЅЈ", "aeopcyxisjhdABEKMHOPCTXISJ")
_LATIN = re.compile(r"[A-Za-z]")
_WORD = re.compile(r"\w+")


def unmasked(text: str) -> str:
    """The text as a reader sees it, with the same length. In words that mix scripts, letters that
    look Latin become Latin. Words entirely in another script are unchanged.

    >>> unmasked("It must nоt be paid in Москва.")  # with a Cyrillic "о" in "nоt"
    'It must not be paid in Москва.'
    """
    if text.isascii():
        return text
    return _WORD.sub(lambda word: _latin(word[0]), text)


def _latin(word: str) -> str:
    return word.translate(LOOKALIKES) if _LATIN.search(word) else word
