"""Reads dates, to the precision given, and times of day as minutes after midnight."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from suffice.text.literals.numbers import at_digits
from suffice.text.literals.values import Day, Literal, LiteralKind, unit_after

_NAMES = """january february march april may june july august september october november
december""".split()
MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}
MONTHS |= {name[:3]: number for name, number in list(MONTHS.items())} | {"sept": 9}
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
WEEKDAYS = {name: number for number, name in enumerate(_DAYS, 1)}

_MONTH = (
    r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?|JANUARY|FEBRUARY|MARCH|APRIL|JUNE|"
    r"JULY|"
    r"AUGUST|SEPTEMBER|OCTOBER|NOVEMBER|DECEMBER)(?![A-Za-z])(?:(?:(?<=[A-Z][a-z]{2})(?<!May)|"
    r"(?<=Sept))\.)?"
)
_YEAR = r"(?P<year>1[0-9]{3}|20[0-9]{2})(?![\w]|[.,]\d)"
_DAY = r"(?P<day>0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?(?!\d)"
_HEAD = r"(?<![\w/])(?<!\d[.,-])"
_FULL = (
    re.compile(
        _HEAD + r"(?P<year>\d{4})(?P<sep>[-/])(?P<month>0[1-9]|1[0-2])(?P=sep)"
        r"(?P<day>0[1-9]|[12]\d|3[01])(?!\d)(?:(?=T\d))?"
    ),
    re.compile(rf"{_HEAD}{_DAY}[ ]?(?:day )?(?:of )?[- ]?{_MONTH}(?:,?[ -](?:of )?{_YEAR})?"),
    re.compile(
        rf"{_HEAD}{_MONTH}[ -](?:the )?{_DAY}(?!\.\d|:\d|[ ]?%|[ ]percent|"
        rf",\d{{3}})(?:,?[ -]{_YEAR})?"
    ),
    re.compile(rf"{_HEAD}{_MONTH},?[ -](?:of )?{_YEAR}"),
)
_NUMERIC = re.compile(
    _HEAD
    + r"(?P<a>\d{1,2})(?P<sep>[/.-])(?P<b>\d{1,2})(?P=sep)(?P<year>\d{4}|\d{2})(?![\w]|[.,/-]\d)"
)
_YEAR_MONTH = re.compile(_HEAD + r"(?P<year>(?:19|20)\d{2})-(?P<month>0[1-9]|1[0-2])(?![\w-])")
_QUARTER = re.compile(
    r"(?<![\w-])(?:Q(?P<q>[1-4])|(?P<q2>[1-4])Q|(?P<word>(?i:first|second|third|"
    r"fourth))[- ](?i:fiscal )?(?i:quarter)s?)"
    r"(?:,?[ ]?(?:of )?(?:fiscal )?(?:year )?(?:FY[ ]?)?(?P<year>(?:19|20)\d{2}))?(?!\w)"
)
_DECADE = re.compile(r"(?<![\w-])(?P<year>1[0-9]|20)(?P<tens>\d)0['’]?s(?!\w)")
_SEASON = re.compile(r"(?<![\w/-])(?P<year>(?:19|20)\d{2})[-–/](?P<next>\d{2})(?![\w/-])")
_ERA = re.compile(r"(?<![\w.,])(?P<year>\d{1,4})[ ](?P<era>BCE?|B\.C\.(?:E\.)?|AD|CE)(?!\w)")
_ALONE = re.compile(
    r"(?<![\w$€£./#])(?<![-–]\D)(?<!\d[,])(?P<fy>FY[ ]?|CY)?(?P<year>1[0-9]{3}|"
    r"20[0-9]{2})(?![\w%$€£])(?![.,:/]\d)"
)
_DATED = re.compile(
    r"(?:\b(?:in|of|since|by|from|until|till|to|circa|c\.|ca\.|before|after|year|for|than|early|"
    r"late|mid|around|"
    r"about|between|and|through|during|spring|summer|autumn|fall|winter|the|fiscal|calendar)\s|\(|"
    r"mid-|"
    r"\d{4}\s?[-–]\s?)$",
    re.I,
)
_PLURAL_NEXT = re.compile(r" (?!was|is|has|his|its|as\b)(?:[a-z-]{3,14} )?[a-z]{3,}s\b")
_MONTH_ALONE = re.compile(rf"(?<![\w-]){_MONTH}(?!\w)")
_WEEKDAY = re.compile(r"(?<![\w-])(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?(?!\w)")

_MERIDIEM = (
    r"(?:(?P<half>[ap])(?:\.[ ]?m\.?|m)(?![A-Za-z])"
    r"|(?:o['’]clock )?in the (?:(?P<morning>morning)|afternoon|evening)\b)"
)
_NOON = re.compile(r"(?<![\w-])(?P<word>noon|midday|midnight)(?![\w-])", re.I)
_TIMES = (
    re.compile(rf"(?<![\w:.,])(?P<h>\d{{1,2}})(?:[:.](?P<m>[0-5]\d))?[ \u00a0]?{_MERIDIEM}", re.I),
    re.compile(
        r"(?<![\w:.,])(?P<h>\d{1,2})(?:[:.](?P<m>[0-5]\d))?(?=[ ]?(?:-|–|to|and|until)[ ]?"
        rf"(?P<h2>\d{{1,2}})(?:[:.][0-5]\d)?[ \u00a0]?{_MERIDIEM})",
        re.I,
    ),
    re.compile(r"(?<![\w:.,/])(?P<h>[01]?\d|2[0-4]):(?P<m>[0-5]\d)(?::[0-5]\d)?(?![\d:])"),
    re.compile(r"(?:(?<=[\"-])|(?<=\" ))(?P<h>[01]?\d|2[0-4]):(?P<m>\d)(?=[-\"])"),
    re.compile(r"(?<![\w:.,])(?P<h>\d{1,2})[ ]o['’]clock", re.I),
    _NOON,
)


def times(text: str) -> Iterator[Literal]:
    """The times of day in a text. If a time could be a.m. or p.m., its `key` is "?"."""
    for pattern in _TIMES:
        for found in pattern.finditer(text) if pattern is _NOON else at_digits(pattern, text):
            parts = found.groupdict()
            if word := parts.get("word"):
                minutes, unsure = (0 if word.lower() == "midnight" else 720), False
            else:
                hour, minute = int(parts["h"]), int(parts.get("m") or 0)
                half = (parts.get("half") or "").lower() or _part_of_day(found[0], parts)
                if half and parts.get("h2") and half == "p" and hour % 12 > int(parts["h2"]) % 12:
                    half = "a"
                if hour > 24 or (half and not 1 <= hour <= 12):
                    continue
                if half:
                    hour = hour % 12 + (12 if half == "p" else 0)
                unsure = not half and 1 <= hour <= 12 and not parts["h"].startswith("0")
                unsure &= len(parts.get("m") or "00") == 2  # "9:0" is from data, in 24 hours
                minutes = (hour * 60 + minute) % 1440
            yield Literal(
                LiteralKind.TIME,
                found[0],
                *found.span(),
                value=Decimal(minutes),
                unit="minute of day",
                key="?" if unsure else "",
            )


def _part_of_day(written: str, parts: dict[str, str | None]) -> str:
    """ "a" or "p" from words such as "in the morning"; empty without such words."""
    if " in the " not in written.lower():
        return ""
    return "a" if parts.get("morning") else "p"


def dates(text: str) -> Iterator[Literal]:
    """Dates in all common formats, the most complete formats first. Results may overlap."""
    for number, pattern in enumerate(_FULL):
        for found in at_digits(pattern, text) if number < 2 else pattern.finditer(text):
            parts = found.groupdict()
            day = Day(_int(parts.get("year")), _month(parts["month"]), _int(parts.get("day")))
            yield _literal(found, day)
    for found in at_digits(_NUMERIC, text):
        if numeric := _numeric(found):
            yield _literal(found, numeric)
    for found in at_digits(_YEAR_MONTH, text):
        yield _literal(found, Day(int(found["year"]), int(found["month"])))
    for found in _QUARTER.finditer(text):
        word = (found["word"] or "").lower()
        quarter = int(found["q"] or found["q2"] or _QUARTERS[word])
        yield _literal(found, Day(_int(found["year"]), quarter=quarter))
    for found in at_digits(_DECADE, text):
        yield _literal(found, Day(int(found["year"] + found["tens"] + "0"), decade=True))
    for found in at_digits(_ERA, text):
        sign = -1 if found["era"].startswith("B") else 1
        yield _literal(found, Day(sign * int(found["year"])))
    for found in at_digits(_SEASON, text):
        if int(found["next"]) == (int(found["year"]) + 1) % 100:
            yield _literal(found, Day(int(found["year"])))
    yield from _lone(text)


_QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4}


def _lone(text: str) -> Iterator[Literal]:
    for found in _ALONE.finditer(text):
        year = int(found["year"])
        dated = bool(_DATED.search(text[max(0, found.start() - 12) : found.start()]))
        unit, _ = unit_after(text, found.end())
        if unit or (year < 1900 and not dated and not found["fy"]):
            continue
        if not dated and not found["fy"] and _PLURAL_NEXT.match(text, found.end()):
            continue
        yield _literal(found, Day(year))
    for found in _MONTH_ALONE.finditer(text):
        # "May" and "March" are also words: they count only after a preposition or in "every May".
        name = found["month"].lower()
        before = text[max(0, found.start() - 10) : found.start()]
        if name in ("may", "march", "mar", "jan", "jun", "dec") and not re.search(
            r"\b(?:in|of|since|by|from|until|to|every|each|next|last|early|late|mid|during)[ -]$",
            before,
            re.I,
        ):
            continue
        yield _literal(found, Day(month=_month(name)))
    for found in _WEEKDAY.finditer(text):
        yield _literal(found, Day(weekday=WEEKDAYS[found[1].lower() + "day"]))


def _numeric(found: re.Match[str]) -> Day | None:
    first, second, year = int(found["a"]), int(found["b"]), int(found["year"])
    if found["sep"] == "." and len(found["year"]) == 2:
        return None  # a version
    if len(found["year"]) == 2:
        year += 2000 if year < 70 else 1900
    if not (1 <= first <= 31 and 1 <= second <= 31) or min(first, second) > 12:
        return None
    if found["sep"] == "." or first > 12:
        return Day(year, second, first) if second <= 12 else None
    return Day(year, first, second, ambiguous=first != second and second <= 12)


def _literal(found: re.Match[str], day: Day) -> Literal:
    return Literal(LiteralKind.DATE, found[0], *found.span(), day=day)


def _int(written: str | None) -> int | None:
    return int(written) if written else None


def _month(written: str) -> int:
    name = written.lower().rstrip(".")
    return int(name) if name.isdigit() else MONTHS[name]
