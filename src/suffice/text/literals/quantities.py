"""Reads quantities: joins ranges and compounds, and reads ratios, comparators and rates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from suffice.text.literals.numbers import SMALL, Atom, at_digits, atoms, plain, significant
from suffice.text.literals.values import Comparator, Literal, LiteralKind, Unit, named

_WINDOW = 44
_SPACE = r"[ \t\u00a0\u202f\n]"
_DASH = re.compile(rf"{_SPACE}?[-\u2010-\u2015\u2212]{_SPACE}?")
_TO = re.compile(rf"{_SPACE}(?:to|or|till|until|through){_SPACE}", re.I)
_AND = re.compile(rf"{_SPACE}and{_SPACE}", re.I)
_BETWEEN = re.compile(rf"\bbetween{_SPACE}+(?:about |approximately |around )?$", re.I)
_FROM = re.compile(rf"\bfrom{_SPACE}+(?:about |approximately |around )?$", re.I)
_CHANGE = re.compile(
    r"\b(?:rose|rise|risen|rising|fell|fall|fallen|falling|increas\w*|decreas\w*|grew|grow\w*|"
    r"rais\w*|"
    r"reduc\w*|dropp?\w*|chang\w*|went|go(?:es)?|lower\w*|cut|up|down|declin\w*|improv\w*|mov\w*|"
    r"expand\w*|jump\w*|climb\w*|shr[aiu]nk|compar\w*|score|won|win|lost|beat)\b",
    re.I,
)
_COMPOUND = re.compile(rf",?{_SPACE}(?:and{_SPACE})?")
_SMALL = "|".join(sorted(SMALL, key=len, reverse=True))
_ONE_IN = re.compile(
    rf"(?<![\w.,-])(?P<a>\d{{1,4}}|(?i:{_SMALL}))[ -](?:in|out of|in every|of every)[ -]"
    rf"(?P<b>\d{{1,5}}|(?i:{_SMALL})|(?i:a (?:hundred|thousand|million)))(?![\w-]|[.,:]\d)"
    rf"(?![ ](?:day|week|month|year|hour|minute|second)s?\b)"
)
_COLON = re.compile(r"(?<![\w.:/-])(\d{1,4})[ ]?:[ ]?(\d{1,4})(?![\w:/]|[.,]\d)")
_FEET = re.compile(r"(?<![\w.])([1-9])['’′][ ]?(\d{1,2})(?:\"|”|″|''|(?![\w'’]))")
_FOOT = Decimal("0.3048")
_PER = re.compile(
    rf"{_SPACE}?(?:/{_SPACE}?|(?:per|every|each|(?P<a>an?)){_SPACE}(?:calendar |working |"
    rf"business )?)"
    r"(?P<word>night|day|week|month|year|hour|minute|second|quarter|annum|capita|person|employee|"
    r"kilomet(?:re|er)|km|mile|kg|head|unit|share)\b"
    rf"|{_SPACE}(?P<adverb>annually|yearly|monthly|weekly|daily|hourly|quarterly)\b",
    re.I,
)
PERIODS = {
    "annually": "year",
    "yearly": "year",
    "annum": "year",
    "monthly": "month",
    "weekly": "week",
}
PERIODS |= {"daily": "day", "hourly": "hour", "quarterly": "quarter", "km": "kilometre"}
PERIODS |= {"kilometer": "kilometre", "capita": "person", "head": "person"}
_TIMES = frozenset("night day week month year hour minute second".split())

_ARTICLE = r"(?:the |a |an |of |is |at |just |only |the age of |age )?"
_BEFORE = {
    Comparator.AT_MOST: r"up to|at (?:the )?most|not (?:to )?exceed(?:ing)?|not over|not above|"
    r"(?:no|not|never|cannot)(?: be| last| cost| take)? (?:more|longer|later|higher|greater|larger|"
    r"older) than|maximum(?: of)?|max\.?|"
    r"capped at|limited to|as (?:much|many) as|(?:cannot|may not|must not) exceed|never exceeds?",
    Comparator.AT_LEAST: r"at (?:the very )?least|starting (?:at|from)|not (?:below|under)|"
    r"(?:no|not|never|cannot)(?: be| last| cost| take)? (?:less|fewer|earlier|lower|younger|"
    r"shorter) than|minimum(?: of)?|min\.",
    # "carry over 5 days" is not a comparator.
    Comparator.MORE_THAN: r"more than|"
    r"(?<!carry )(?<!carried )(?<!carrying )(?<!roll )(?<!rolled )(?<!hand )(?<!take )over|"
    r"above|exceed(?:s|ing|ed)?|greater than|in excess of|"
    r"longer than|higher than|larger than|upwards? of|beyond|older than|later than|>",
    Comparator.LESS_THAN: r"less than|fewer than|under|below|shorter than|lower than|smaller than|"
    r"younger than|earlier than|<",
    Comparator.ABOUT: r"about|approximately|around|roughly|some|circa|ca\.|approx\.?|close to|"
    r"(?:an )?estimated|nearly|almost|~|≈",
}
_BEFORE_RE = tuple(
    (comparator, re.compile(rf"(?:(?<=\s)|(?<=\()|^)(?:{words})\s*{_ARTICLE}$", re.I))
    for comparator, words in _BEFORE.items()
)
_WITHIN = re.compile(r"\bwithin\s*(?:the (?:first|next|last) |a |about )?$", re.I)
_DATED = (
    (
        Comparator.AT_MOST,
        re.compile(r"\b(?:by|until|till|up to|through|(?:no|not) later than)\s*$", re.I),
    ),
    (Comparator.LESS_THAN, re.compile(r"\bbefore\s*$", re.I)),
    (Comparator.MORE_THAN, re.compile(r"\bafter\s*$", re.I)),
    (
        Comparator.AT_LEAST,
        re.compile(r"\b(?:since|as of|starting|(?:no|not) earlier than)\s*$", re.I),
    ),
    (Comparator.ABOUT, re.compile(r"\b(?:around|about|circa|ca\.|c\.)\s*$", re.I)),
)
_AFTER_RE = tuple(
    (comparator, re.compile(words, re.I))
    for comparator, words in (
        (
            Comparator.AT_LEAST,
            r"\s?\+|\s(?:or|and) (?:more|above|over|older|greater|longer|up|higher)\b|"
            r"\s(?:at )?(?:a )?minimum\b|\splus\b",
        ),
        (
            Comparator.AT_MOST,
            r"\s(?:or|and) (?:less|fewer|below|under|younger|lower|shorter)\b|"
            r"\s(?:at )?(?:a )?maximum\b|\sat most\b",
        ),
        (Comparator.ABOUT, r"\sor so\b"),
    )
)


def ratios(text: str) -> Iterator[Literal]:
    """Ratios: "1 in 5" as 20 percent, "3:1" as a ratio."""
    for found in _ONE_IN.finditer(text):
        top, bottom = _small(found["a"]), _small(found["b"])
        if 0 < top < bottom and (bottom <= 100 or bottom % 100 == 0):
            share = significant(Decimal(100 * top) / bottom)
            yield Literal(
                LiteralKind.FRACTION, found[0], *found.span(), share, amount=share, unit="percent"
            )
    for found in at_digits(_COLON, text):
        top, bottom = int(found[1]), int(found[2])
        yield Literal(LiteralKind.RATIO, found[0], *found.span(), key=f"{top}:{bottom}")


def heights(text: str) -> Iterator[Literal]:
    """Heights in feet and inches: 5'3"."""
    for found in at_digits(_FEET, text):
        value = Decimal(found[1]) * _FOOT + Decimal(found[2]) * _FOOT / 12
        yield Literal(
            LiteralKind.MEASURE,
            found[0],
            *found.span(),
            plain(value),
            amount=plain(value),
            unit="meter",
        )


def _small(written: str) -> int:
    words = {"a hundred": 100, "a thousand": 1000, "a million": 10**6}
    lower = written.lower()
    return int(written) if written.isdigit() else SMALL.get(lower) or words.get(lower, 0)


def quantities(text: str, taken: bytearray) -> list[Literal]:
    """The numbers, money, percentages, durations and measures of a text, single or as ranges."""
    joined: list[Literal] = []
    found = list(atoms(text, taken))
    at = 0
    while at < len(found):
        literal, used = _joined(text, found, at)
        joined.append(literal)
        at += used
    return joined


def _joined(text: str, found: list[Atom], at: int) -> tuple[Literal, int]:
    first = found[at]
    second = found[at + 1] if at + 1 < len(found) else None
    if second and second.start - first.end <= 9:
        if _changes(text, first, second):
            return quantity(text, _borrow(first, second)), 1
        if literal := _range(text, first, second):
            return literal, 2
        if literal := _compound(text, first, second):
            return literal, 2
    return quantity(text, first), 1


def _changes(text: str, first: Atom, second: Atom) -> bool:
    """Whether two values describe a change, not a range: "rose from 5 to 8 percent"."""
    before = text[max(0, first.start - _WINDOW) : first.start]
    gap = text[first.end : second.start]
    return bool(_TO.fullmatch(gap) and _FROM.search(before) and _CHANGE.search(before))


def _range(text: str, first: Atom, second: Atom) -> Literal | None:
    if LiteralKind.ORDINAL in (first.kind, second.kind):
        return None
    gap = text[first.end : second.start]
    before = text[max(0, first.start - _WINDOW) : first.start]
    dash = bool(_DASH.fullmatch(gap))
    if not (dash or _TO.fullmatch(gap) or (_AND.fullmatch(gap) and _BETWEEN.search(before))):
        return None
    if first.kind is LiteralKind.MONEY and second.unit is None:
        second = replace(second, unit=first.unit, kind=first.kind)
    first = _borrow(first, second)
    if first.unit != second.unit and first.canonical != second.canonical:
        return None
    span = text[first.start : second.end], first.start, second.end
    if first.value >= second.value:
        if first.unit is None:
            return Literal(LiteralKind.RATIO, *span, key=f"{first.amount}:{second.amount}")
        return None
    return replace(
        quantity(text, second),
        text=span[0],
        start=span[1],
        value=first.value,
        high=second.value,
        amount=first.amount,
        comparator=_comparator(text, first, second.end),
    )


def _borrow(first: Atom, second: Atom) -> Atom:
    """The first value with the unit or scale of the second: "10 to 15 days", "$4 to 5 million"."""
    amount = first.amount
    if second.scaled and not first.scaled and first.amount < 1000:
        scale = 10 ** (second.amount.adjusted() // 3 * 3) if second.amount else 1
        amount = first.amount * scale if first.amount * scale < second.amount else amount
    if first.unit is None and second.unit is not None:
        return replace(first, amount=amount, unit=second.unit, kind=second.kind)
    return replace(first, amount=amount)


def _compound(text: str, first: Atom, second: Atom) -> Literal | None:
    """A compound quantity: "2 hours and 30 minutes", "1 year 6 months", "5 feet 10 inches"."""
    if first.unit is None or second.unit is None or first.canonical != second.canonical:
        return None
    smaller = second.unit.factor < first.unit.factor and second.value < first.unit.factor
    compoundable = first.kind is LiteralKind.DURATION or first.canonical == "meter"
    if not (smaller and compoundable and _COMPOUND.fullmatch(text[first.end : second.start])):
        return None
    value = first.value + second.value
    literal = replace(quantity(text, second), start=first.start, value=value, amount=value)
    comparator = _comparator(text, first, second.end)
    return replace(literal, text=text[first.start : second.end], comparator=comparator)


def quantity(text: str, atom: Atom) -> Literal:
    """An atom as a literal, with the bound before it and the rate after it."""
    return Literal(
        atom.kind,
        text[atom.start : atom.end],
        atom.start,
        atom.end,
        value=atom.value,
        amount=atom.amount,
        unit=atom.canonical,
        per=_per(text, atom),
        comparator=_comparator(text, atom, atom.end),
    )


def _per(text: str, atom: Atom) -> str:
    found = _PER.match(text, atom.end)
    if not found or atom.kind is LiteralKind.ORDINAL:
        return ""
    word = (found["word"] or found["adverb"]).lower()
    if found["a"] and word not in _TIMES:
        return ""
    return PERIODS.get(word, word)


def _comparator(text: str, atom: Atom, end: int) -> Comparator:
    if atom.kind is LiteralKind.ORDINAL:
        return Comparator.EXACTLY
    after = text[end : end + 14]
    for comparator, pattern in _AFTER_RE:
        if pattern.match(after):
            return comparator
    before = text[max(0, atom.start - _WINDOW) : atom.start]
    if not before[-1:].isspace() and before[-1:] not in ("<", ">", "~", "≈"):
        return Comparator.EXACTLY
    for comparator, pattern in _BEFORE_RE:
        if pattern.search(before):
            return comparator
    if atom.kind is LiteralKind.DURATION and _WITHIN.search(before):
        return Comparator.AT_MOST
    return Comparator.EXACTLY


def dated_comparator(text: str, start: int) -> Comparator:
    """The bound before a date or a time: "by 1 March", "until noon", "since 2019"."""
    before = text[max(0, start - _WINDOW) : start]
    for comparator, pattern in _DATED:
        if pattern.search(before):
            return comparator
    return Comparator.EXACTLY


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
