"""Reads durations and frequencies without a number: "for a year", "weekly", "every month"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from suffice.text.literals.atom import Atom
from suffice.text.literals.quantities import PERIODS, quantity
from suffice.text.literals.units import named
from suffice.text.literals.values import Literal, LiteralKind, Unit

# "20 days a year" is a rate. "a year" is a duration only after words such as "for" or "lasts".
_SPAN = re.compile(
    r"\b(?:(?P<cue>for|within|after|over|under|than|lasts?|lasted|takes?|took|runs?|about|nearly|"
    r"almost|roughly|least|most) )?(?P<span>an? (?:full |whole |entire |calendar )?"
    r"(?P<unit>hour|day|week|fortnight|month|year|decade|century)(?P<half> and a half)?)\b"
    r"(?!['’-])",
    re.I,
)
_OFTEN = re.compile(
    r"\b(?:(?:every|each) (?P<each>hour|day|night|week|month|quarter|year)(?![\w'’-])"
    r"|(?P<adverb>hourly|daily|weekly|monthly|quarterly|yearly|annually)"
    r"(?=\s*(?:[.,;:)]|$|(?:in|on|by|at|and|or|to|for|from|with|unless|if|when|until|after|before|"
    r"during|as|since)\b))"
    r"|(?P<count>twice|thrice)\b)",
    re.I,
)
_TIME = Unit(LiteralKind.NUMBER, "time")


def periods(text: str, taken: bytearray) -> Iterator[Literal]:
    """Durations ("for a year and a half": 18 months) and frequencies ("weekly": once a week)."""
    for found in _SPAN.finditer(text):
        if (found["cue"] or found["half"]) and (unit := named(found["unit"].lower())):
            amount = Decimal("1.5") if found["half"] else Decimal(1)
            start, end = found.span("span")
            yield quantity(text, Atom(start, end, amount, unit, unit.kind))
    for found in _OFTEN.finditer(text):
        if found["count"]:
            times = Decimal(2 if found["count"].lower() == "twice" else 3)
            yield quantity(text, Atom(*found.span(), times, _TIME))
            continue
        before = found.start() - 1
        if before > 0 and text[before] == " " and taken[before - 1]:
            continue  # the rate of the value before it: "27 days every year"
        word = (found["each"] or found["adverb"]).lower()
        yield replace(
            quantity(text, Atom(*found.span(), Decimal(1), _TIME)), per=PERIODS.get(word, word)
        )
