"""Minimal edits: a supported claim with one small thing changed, which the evidence then lacks.

Number, unit, date, name, a negation or a condition dropped, subject and object swapped. An edit
must not leave a mark of its own: a model that meets "not" or "least" only in edited claims learns
to flag the word (it did), so words are swapped only where the evidence holds the new one too, and
nothing is negated that was not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

SUPPORTED, NOT_MENTIONED, CONTRADICTED, NOT_SUPPORTED = 0, 1, 2, 3
Edited = tuple[str, int]
Maker = Callable[[str, str, random.Random], Edited | None]

_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_NUMBER = re.compile(
    r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.,-])\d+(?:\.\d+)?(?![\w,-]|\.\d)"
)
_SPELLED = "two three four five six seven eight nine ten twelve twenty thirty".split()
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_ANY_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_UNITS = (
    ("days", "weeks", "months", "years", "hours", "minutes"),
    ("day", "week", "month", "year", "hour", "minute"),
    ("million", "billion", "thousand"),
    ("dollars", "euros", "pounds"),
    ("miles", "kilometers", "meters", "feet"),
    ("kg", "pounds", "grams"),
    ("percent", "percentage points"),
)
_CONDITION = re.compile(
    r",? (?:if|unless|except|provided that|subject to|as long as|only when|after|until) "
    r"[^,.;]{8,80}"
    r"|\b(?:only|up to|at least|at most|about|nearly|partially|usually|sometimes|often|may) "
)
_SWAPS = {
    "all": "some", "some": "all", "most": "all", "many": "few", "few": "many", "both": "neither",
    "always": "sometimes", "never": "often", "before": "after", "after": "before",
    "more": "less", "less": "more", "higher": "lower", "lower": "higher", "fewer": "more",
    "increased": "decreased", "decreased": "increased", "highest": "lowest", "first": "last",
    "may": "must", "must": "may", "only": "also", "increase": "decrease", "rise": "fall",
    "largest": "smallest", "older": "younger", "north": "south", "east": "west", "won": "lost",
    "male": "female", "father": "mother", "early": "late", "allowed": "forbidden", "open": "closed",
    "include": "exclude", "above": "below", "with": "without", "success": "failure",
}  # fmt: skip


def edit(claim: str, evidence: str, draw: random.Random) -> Edited | None:
    """One small change, of a kind drawn at random among those that fit."""
    makers = list(MAKERS)
    draw.shuffle(makers)
    for make in makers:
        made = make(claim, evidence, draw)
        if made and made[0] != claim:
            return made
    return None


def number(claim: str, evidence: str, draw: random.Random) -> Edited | None:
    spelled = [word for word in _SPELLED if re.search(rf"\b{word}\b", claim)]
    if spelled and draw.random() < 0.5:
        new = draw.choice([word for word in _SPELLED if word != spelled[0]])
        return re.sub(rf"\b{spelled[0]}\b", new, claim, count=1), NOT_SUPPORTED
    found = [m for m in _NUMBER.finditer(claim) if m.group() in evidence]
    if not found:
        return None
    match = draw.choice(found)
    rivals = [n for n in _NUMBER.findall(evidence) if n not in claim]
    plain = match.group().replace(",", "")
    if rivals and draw.random() < 0.4:
        new = draw.choice(rivals)
    elif "." in plain:
        new = f"{float(plain) * draw.choice((0.5, 0.9, 1.1, 2)):.{len(plain.split('.')[1])}f}"
    else:
        step = draw.choice((1, 2, 5, 10, max(1, int(plain) // 3))) if len(plain) < 16 else 1
        new = str(max(0, int(plain) + draw.choice((-1, 1)) * step))
    if new == plain:
        return None
    return claim[: match.start()] + new + claim[match.end() :], NOT_SUPPORTED


def unit(claim: str, evidence: str, draw: random.Random) -> Edited | None:
    for group in _UNITS:
        for word in group:
            if re.search(rf"\d+ {word}\b", claim):
                new = draw.choice([other for other in group if other != word])
                return re.sub(rf"(\d+ ){word}\b", rf"\g<1>{new}", claim, count=1), NOT_SUPPORTED
    return None


def date(claim: str, evidence: str, draw: random.Random) -> Edited | None:
    for group in (_MONTHS, _DAYS):
        named = [name for name in group if re.search(rf"\b{name}\b", claim) and name in evidence]
        if named:
            new = draw.choice([name for name in group if name != named[0]])
            return claim.replace(named[0], new), NOT_SUPPORTED
    return None


def name(claim: str, evidence: str, draw: random.Random) -> Edited | None:
    names = [found for found in _ANY_NAME.findall(claim) if found in evidence and len(found) > 3]
    rivals = [found for found in set(_NAME.findall(evidence)) if found not in claim]
    if not names or not rivals:
        return None
    return claim.replace(draw.choice(names), draw.choice(sorted(rivals)), 1), NOT_SUPPORTED


def swapped(claim: str, evidence: str, draw: random.Random) -> Edited | None:
    """Who did it to whom, the other way round."""
    names = [found for found in dict.fromkeys(_ANY_NAME.findall(claim)) if len(found) > 3]
    if len(names) < 2:
        return None
    one, other = draw.sample(names, 2)
    first, last = sorted((one, other), key=claim.find)
    between = claim[claim.find(first) + len(first) : claim.find(last)]
    if one in other or other in one or not re.search(r"[a-z]{4}", between):
        return None
    return claim.replace(one, "\0").replace(other, one).replace("\0", other), NOT_SUPPORTED


def negated(claim: str, evidence: str, draw: random.Random) -> Edited | None:
    """What the source denies, said outright."""
    match = re.search(r"\b(?:not|never|no longer)\b ", claim)
    if not match or match.group() not in evidence:
        return None
    return claim[: match.start()] + claim[match.end() :], CONTRADICTED


def word(claim: str, evidence: str, draw: random.Random) -> Edited | None:
    found = [
        one
        for one, other in _SWAPS.items()
        if re.search(rf"\b{one}\b", claim) and re.search(rf"\b{other}\b", evidence)
    ]
    if not found:
        return None
    one = draw.choice(found)
    return re.sub(rf"\b{one}\b", _SWAPS[one], claim, count=1), NOT_SUPPORTED


def condition(claim: str, evidence: str, draw: random.Random) -> Edited | None:
    """What the source says with a condition, said without it."""
    match = _CONDITION.search(claim)
    if not match or len(claim) - len(match.group()) < 25:
        return None
    gap = " " if match.group().endswith(" ") and match.group().startswith(" ") else ""
    return claim[: match.start()] + gap + claim[match.end() :], NOT_SUPPORTED


MAKERS: tuple[Maker, ...] = (number, unit, date, name, swapped, negated, word, condition)
QUESTION_MAKERS: tuple[Maker, ...] = (number, date, name, swapped)


def edit_question(question: str, evidence: str, draw: random.Random) -> str | None:
    """A question about another number, date or name: the passage is near and does not answer it."""
    makers = list(QUESTION_MAKERS)
    draw.shuffle(makers)
    for make in makers:
        made = make(question, evidence, draw)
        if made and made[0] != question:
            return made[0]
    return None
