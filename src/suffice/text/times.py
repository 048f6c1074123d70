"""The time that a question asks about; `when.py` reads it from the text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum


class TimeAsked(StrEnum):
    """Which versions of a document a question is about."""

    NOW = "now"
    THEN = "then"
    BEFORE = "before"
    NAMED = "named"
    EVER = "ever"


@dataclass(frozen=True, slots=True)
class When:
    """The time asked about, and the words that state it.

    THEN covers the days `start <= day < until`, and NAMED gives the label of a `version`. If `firm`
    is set, only documents of that time count.
    """

    asked: TimeAsked = TimeAsked.NOW
    start: date = date.min
    until: date = date.max
    words: str = ""
    version: str = ""
    firm: bool = False


NOW = When()
