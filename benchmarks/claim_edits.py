"""Edits and rewordings of labelled claims: changes one value of a supported claim, by patterns.

Only a value that occurs literally in the evidence is changed, so that the correct value is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from random import Random
from typing import Any

from benchmarks.written import DATE, MONTHS, NUMBER, UNIT, another, in_words, written_dates
from suffice.lab.redteam.edits import OTHER_UNIT

Change = tuple[str, str]
"""What was changed, and the new wording."""

_MONTH = "|".join(MONTHS)
_DAY = re.compile(
    rf"\b(?:(?P<d>\d{{1,2}}) (?P<m>{_MONTH})|(?P<m2>{_MONTH}) (?P<d2>\d{{1,2}}),) (?P<y>\d{{4}})\b"
)
_MEASURED = re.compile(rf"\b\d[\d,.]* (?P<unit>{'|'.join(OTHER_UNIT)})\b")
_NUMBER = re.compile(
    r"(?<![\w.,/:-])[$€£]?(?P<digits>\d{1,3}(?:,\d{3})+|\d+)(?P<rest>\.\d+)?(?![\w/:-]|[.,]\d)"
)
_PERCENT = re.compile(r"(?<![\w.,])(?P<digits>\d+(?:\.\d+)?)(?P<sign> ?%| percent)(?!\w)")
_DOLLARS = re.compile(
    r"\$(?P<digits>\d[\d,]*(?:\.\d+)?)(?P<scale> (?:million|billion))?(?![\w.,]\d|\w)"
)


_MARK = re.compile(r"\s*\[\d+\]")
_DIGITS = re.compile(r"\d+")
_NAMED = re.compile(r"(?:[A-Z][\w.]*|[#(])\s*$")
"""Words before a number that is part of a name or a date: "Ryzen 7", "March 4"."""


def changes(random: Random, claim: str, evidence: str) -> Iterator[tuple[str, str, Change]]:
    """Every possible edit: the edited claim, the original value, and the change."""
    for found in _standing(_DAY, claim, evidence):
        yield _put(claim, found.span(), (DATE, random.choice(_other_days(random, found))))
    for found in _standing(_MEASURED, claim, evidence):
        yield _put(claim, found.span("unit"), (UNIT, OTHER_UNIT[found["unit"]]))
    for found in _standing(_NUMBER, claim, evidence):
        digits = found["digits"]
        number = int(digits.replace(",", ""))
        year = len(digits) == 4 and "," not in digits and 1500 < number < 2100
        other = number + random.choice((-3, -1, 1, 2)) if year else another(random, number, 2)
        written = f"{other:,}" if "," in digits else str(other)
        yield _put(claim, found.span("digits"), (DATE if year else NUMBER, written))


def same(random: Random, claim: str, evidence: str) -> Iterator[tuple[str, str, Change]]:
    """Every rewording that keeps the value."""
    for found in _standing(_DAY, claim, evidence):
        if day := _day(found):
            writings = [one for one in written_dates(day) if one != found[0]]
            yield _put(claim, found.span(), ("", random.choice(writings)))
    for found in _standing(_PERCENT, claim, evidence):
        sign = " percent" if "%" in found["sign"] else "%"
        yield _put(claim, found.span("sign"), ("", sign))
    for found in _standing(_DOLLARS, claim, evidence):
        written = f"{found['digits']}{found['scale'] or ''} dollars"
        yield _put(claim, found.span(), ("", written))
    for found in _standing(_NUMBER, claim, evidence):
        digits, number = found["digits"], int(found["digits"].replace(",", ""))
        if "," in digits:
            yield _put(claim, found.span("digits"), ("", str(number)))
        elif found[0] == digits and 1 < number < 100 and _counts(claim, found.span()):
            yield _put(claim, found.span("digits"), ("", in_words(number)))


def _counts(claim: str, span: tuple[int, int]) -> bool:
    """Whether a number is a count and can also be written in words."""
    before, behind = claim[: span[0]], claim[span[1] :]
    return not _NAMED.search(before) and bool(re.match(r" [a-z]{3}", behind))


def supported(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Short claims that are labelled as supported, whose numbers all occur in the evidence."""
    for row in rows:
        evidence = row["evidence"]
        text = evidence if isinstance(evidence, str) else "\n\n".join(evidence)
        claim = _MARK.sub("", row["claim"])
        short = len(claim) <= 400 and len(text) <= 8000
        if (
            row["label"] == "entail"
            and short
            and set(_DIGITS.findall(claim)) <= set(_DIGITS.findall(text))
        ):
            yield claim, text


def _standing(pattern: re.Pattern[str], claim: str, evidence: str) -> Iterator[re.Match[str]]:
    for found in pattern.finditer(claim):
        if re.search(rf"(?<![\w.,]){re.escape(found[0])}(?![\w]|[.,]\d)", evidence):
            yield found


def _put(claim: str, span: tuple[int, int], change: Change) -> tuple[str, str, Change]:
    start, end = span
    return claim[:start] + change[1] + claim[end:], claim[start:end], change


def _day(found: re.Match[str]) -> date | None:
    try:
        month = MONTHS.index(found["m"] or found["m2"]) + 1
        return date(int(found["y"]), month, int(found["d"] or found["d2"]))
    except ValueError:
        return None


def _other_days(random: Random, found: re.Match[str]) -> list[str]:
    month = found["m"] or found["m2"]
    number = int(found["d"] or found["d2"])
    another_month = random.choice([one for one in MONTHS if one != month])
    return [
        found[0].replace(month, another_month),
        re.sub(rf"\b{number}\b", str(number % 28 + 1), found[0], count=1),
        found[0].replace(found["y"], str(int(found["y"]) + random.choice((-2, -1, 1, 2)))),
    ]
