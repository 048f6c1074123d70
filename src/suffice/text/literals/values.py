"""The `Literal` type, a part of a text that can be compared exactly; units and currencies."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from suffice.text.words import STOP_WORDS

if TYPE_CHECKING:
    from pint import UnitRegistry


class LiteralKind(StrEnum):
    """What a literal is."""

    NUMBER = "number"
    MONEY = "money"
    PERCENTAGE = "percentage"
    FRACTION = "fraction"
    RATIO = "ratio"
    DURATION = "duration"
    MEASURE = "measure"
    DATE = "date"
    TIME = "time"
    ORDINAL = "ordinal"
    VERSION = "version"
    IDENTIFIER = "identifier"
    QUOTATION = "quotation"
    NAME = "name"


QUANTITIES = frozenset(
    {
        LiteralKind.NUMBER,
        LiteralKind.MONEY,
        LiteralKind.PERCENTAGE,
        LiteralKind.FRACTION,
        LiteralKind.DURATION,
        LiteralKind.MEASURE,
    }
)
"""Kinds with an amount and a unit. They can form ranges, have bounds and be computed with."""


class Comparator(StrEnum):
    """How the value is bounded: "16 weeks", "about 16 weeks", "at least 16 weeks"…"""

    EXACTLY = "exactly"
    ABOUT = "about"
    AT_LEAST = "at least"
    MORE_THAN = "more than"
    AT_MOST = "at most"
    LESS_THAN = "less than"

    @property
    def direction(self) -> int:
        """1 for a lower bound, -1 for an upper bound, 0 for none."""
        if self in (Comparator.AT_LEAST, Comparator.MORE_THAN):
            return 1
        return -1 if self in (Comparator.AT_MOST, Comparator.LESS_THAN) else 0


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measurement: `(amount + shift) * factor` is the value in the `canonical` unit."""

    kind: LiteralKind
    canonical: str
    factor: Decimal = Decimal(1)
    shift: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Day:
    """A date to the precision given; parts that are not stated are `None`.

    `ambiguous`: day and month may be swapped, as in 03/04/2025.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None
    quarter: int | None = None
    weekday: int | None = None
    decade: bool = False
    ambiguous: bool = False

    @property
    def parts(self) -> tuple[int | None, int | None, int | None]:
        return self.year, self.month, self.day


@dataclass(frozen=True, slots=True)
class Literal:
    """One comparable part of a text: `source[start:end] == text`.

    `value` is the amount in the canonical `unit` of its dimension ("2 weeks": 1209600 second),
    `high` is the upper end of a range, and `amount` is the number as written. Dates have a `day`;
    versions, identifiers, quotations and names have a `key`, their normalised spelling. `nouns` are
    the words directly after the number, `about` the words of its clause, and `context` those of the
    rest of its sentence, which starts at `sentence`. `shared` are words from another value's clause
    that also apply here: "printing" for "0.40 in colour" after "Printing costs 0.10 in black". If
    `cell` is set, the literal is in a table, and `about` holds the words of its row and column
    heading.
    """

    kind: LiteralKind
    text: str
    start: int
    end: int
    value: Decimal | None = None
    high: Decimal | None = None
    amount: Decimal | None = None
    unit: str = ""
    per: str = ""
    comparator: Comparator = Comparator.EXACTLY
    day: Day | None = None
    key: str = ""
    nouns: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    cell: bool = False
    sentence: int = 0

    @property
    def pair(self) -> tuple[Decimal, Decimal] | None:
        """The (low, high) of a range; `None` for a single value."""
        if self.value is None or self.high is None:
            return None
        return self.value, self.high


# pint also reads "as", "at" and "are" as units, so only the units listed here are read in prose.
# Units on the same line are converted into the first of them.
_NAMES = {
    LiteralKind.DURATION: """
second millisecond microsecond nanosecond minute hour day week fortnight
calendar_month calendar_quarter calendar_year calendar_decade calendar_century
working_day
night""",
    LiteralKind.PERCENTAGE: """
percent
percentage_point basis_point""",
    LiteralKind.NUMBER: "time",
    LiteralKind.MEASURE: """
gram milligram microgram mcg kilogram kilo metric_ton pound ounce
unspecified_ton
meter nanometer micrometer millimeter centimeter kilometer kms inch foot yard mile nautical_mile
square_meter square_kilometer square_foot square_mile hectare international_acre
liter milliliter centiliter deciliter cubic_meter gallon quart pint cup
byte kilobyte KB megabyte gigabyte terabyte petabyte kibibyte mebibyte gibibyte tebibyte bit \
kilobit megabit gigabit terabit
kbps Mbps Gbps
meter_per_second mile_per_hour kilometer_per_hour
watt milliwatt kilowatt megawatt gigawatt terawatt
joule kilojoule megajoule food_calorie watt_hour milliwatt_hour kilowatt_hour megawatt_hour \
gigawatt_hour terawatt_hour
hertz kilohertz megahertz gigahertz
volt millivolt kilovolt
ampere milliampere
pascal hectopascal kilopascal megapascal
sound_level
degree_Celsius degree_Fahrenheit
unspecified_degree""",
}
# Units that pint lacks or defines differently from ordinary documents: a month has no fixed number
# of days, there are three kinds of ton, "degrees" may be angles, and food calories are
# kilocalories.
_DEFINITIONS = """
calendar_month = [calendar_month] = mo = month
calendar_quarter = 3 * calendar_month = _ = quarter
calendar_year = 12 * calendar_month = yr = year
calendar_decade = 10 * calendar_year = _ = decade
calendar_century = 100 * calendar_year = _ = century = centuries
working_day = [working_day] = _ = business_day = work_day = banking_day
night = [night]
time = [occurrence]
percentage_point = [percentage_point] = pp = percent_point
basis_point = 0.01 * percentage_point = bps
unspecified_ton = [unspecified_ton] = _ = ton
unspecified_degree = [unspecified_degree] = ° = degree
sound_level = [sound_level] = dB = decibel = db
food_calorie = 4184 * joule = kcal = calorie = kilocalorie
international_acre = 4840 * yard ** 2 = _ = acre
square_meter = meter ** 2 = m² = m2 = sqm = square_metre
square_kilometer = kilometer ** 2 = km² = km2 = square_kilometre
cubic_meter = meter ** 3 = m³ = m3 = cubic_metre
meter_per_second = meter / second = _ = meters_per_second = metres_per_second
mcg = microgram
kilo = kilogram = _ = kgs
kms = kilometer
KB = kilobyte
kbps = kilobit / second
Mbps = megabit / second = _ = mbps
Gbps = gigabit / second
@alias percent = pct = per_cent
@alias minute = Min
@alias week = wk
@alias gram = gramme
@alias nautical_mile = NM
@alias bit = b
@alias square_foot = sqft
@alias mile_per_hour = miles_per_hour
@alias kilometer_per_hour = kmh = km_per_hour = kilometers_per_hour = kilometres_per_hour
@alias degree_Celsius = degrees_Celsius = degree_centigrade = degrees_centigrade
@alias degree_Fahrenheit = degrees_Fahrenheit
"""
# pint accepts no name that contains an operator.
_WITH_OPERATOR = {
    "m/s": "meter_per_second",
    "km/h": "kilometer_per_hour",
    "% point": "percentage_point",
    "% points": "percentage_point",
}
# The micro sign and the Greek letter: documents have both, pint knows one of them.
_MICRO = (("\u00b5", "\u03bc"), ("\u03bc", "\u00b5"))
_WORDS = frozenset("bit in ins has mis pa pas pps pt pts cp cps time quarter".split())
"""Unit spellings that are usually ordinary words."""
_EXACT = Context(prec=24)
_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """Units by exact spelling, and the candidates for each spelling when case is ignored."""

    registry: UnitRegistry[Any]
    exact: Mapping[str, Unit]
    folded: Mapping[str, frozenset[Unit]]


def measure(written: str) -> Unit | None:
    """The unit named by a word or phrase, such as "kg", "working days" or "miles an hour".

    Unusual case is accepted if only one unit is possible: "KG", but not "mw".
    """
    lexicon = _lexicon()
    if unit := lexicon.exact.get(written):
        return unit
    meant = lexicon.folded.get(written.lower(), frozenset())
    if len(meant) != 1 or lexicon.registry.parse_unit_name(written):
        return None
    return next(iter(meant))


def in_other_case(written: str) -> bool:
    """Whether the word would be a unit in a different case."""
    return written.lower() in _lexicon().folded


def _lexicon() -> _Lexicon:
    with _LOCK:
        return _build()


@cache
def _build() -> _Lexicon:
    # pint takes half a second to load, so it is loaded on first use.
    from pint import UnitRegistry

    registry: UnitRegistry[Any] = UnitRegistry(non_int_type=Decimal, on_redefinition="ignore")
    registry.load_definitions(_DEFINITIONS.strip().splitlines())
    aliases: dict[str, list[str]] = defaultdict(list)
    for spelling in registry:
        for prefix, name, _ in registry.parse_unit_name(spelling)[:1]:
            if not prefix:
                aliases[name].append(spelling)
    exact: dict[str, Unit] = {}
    folded: dict[str, set[Unit]] = defaultdict(set)
    for kind, name, reference in _names():
        unit = _unit(registry, kind, name, reference)
        for spelling in _spellings(registry, name, aliases):
            if spelling.lower() not in _WORDS:
                for written in {spelling.replace(*pair) for pair in _MICRO}:
                    exact[written] = unit
                    folded[written.lower()].add(unit)
    for spelling, name in _WITH_OPERATOR.items():
        exact[spelling] = exact[name.replace("_", " ")]
        folded[spelling].add(exact[spelling])
    return _Lexicon(registry, exact, {word: frozenset(units) for word, units in folded.items()})


def _names() -> Iterator[tuple[LiteralKind, str, str]]:
    for kind, lines in _NAMES.items():
        for names in map(str.split, lines.strip().splitlines()):
            yield from ((kind, name, names[0]) for name in names)


def _unit(registry: UnitRegistry[Any], kind: LiteralKind, name: str, reference: str) -> Unit:
    zero, one = (registry.Quantity(Decimal(n), name).to(reference).magnitude for n in (0, 1))
    factor = one - zero
    numbers = (_EXACT.plus(number).normalize() for number in (factor, zero / factor))
    return Unit(kind, reference.replace("_", " "), *numbers)


def _spellings(
    registry: UnitRegistry[Any], name: str, aliases: Mapping[str, list[str]]
) -> Iterator[str]:
    """The names, symbols and plurals of a unit, with spaces instead of pint's underscores."""
    prefix, base, _ = registry.parse_unit_name(name)[0]
    symbol = registry.get_symbol(name).removesuffix(registry.get_symbol(base)) if prefix else ""
    for alias in aliases[base]:
        # "kilometre" and "km", but not "kilom" or "kmetre"
        starts = {prefix} if len(alias) > 3 else {symbol} if len(alias) < 3 else {prefix, symbol}
        for spelling in (f"{start}{alias}{end}" for start in starts for end in ("", "s")):
            if any(one[:2] == (prefix, base) for one in registry.parse_unit_name(spelling)):
                yield spelling.replace("_", " ")


FILE = Path(__file__).with_name("currencies.tsv")
# Codes that are also words, or names that often precede a number: "TOP 10", "ALL 27", "AMD 7800".
_NO_CODES = frozenset("ALL AMD BAM BOB BSD COP CUP CVE GEL MAD MOP PEN RON SOS TOP TRY XXX".split())
_SYMBOLS = {"US$": "USD", "C$": "CAD", "AU$": "AUD", "S$": "SGD", "₽": "RUB"}
# A name without a country means the best-known currency of that name.
_PLAIN = {
    "dollar": "USD", "u.s. dollar": "USD", "american dollar": "USD", "buck": "USD", "yen": "JPY",
    "franc": "CHF", "yuan": "CNY", "rupee": "INR", "krona": "SEK", "zloty": "PLN", "rand": "ZAR",
    "ruble": "RUB", "rouble": "RUB", "pound sterling": "GBP", "pounds sterling": "GBP",
}  # fmt: skip
_CENTS = {"cent": "USD", "cents": "USD", "¢": "USD", "pence": "GBP", "eurocents": "EUR"}


@dataclass(frozen=True, slots=True)
class _Currencies:
    codes: Mapping[str, str]
    names: Mapping[str, Unit]


def currency(written: str) -> str:
    """The code for the currency before an amount: "€", "US$", "CHF". Empty for other text."""
    return _currencies().codes.get(written, "")


def money(written: str) -> Unit | None:
    """The currency after an amount: "EUR", "€", "Swiss francs", "cents"."""
    known = _currencies()
    if code := known.codes.get(written):
        return Unit(LiteralKind.MONEY, code)
    return known.names.get(written.lower())


@cache
def _currencies() -> _Currencies:
    codes: dict[str, str] = {}
    symbols: dict[str, str] = {}
    names = _PLAIN | {f"{name}s": code for name, code in _PLAIN.items()}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        code, symbol, *forms = line.split("\t")
        codes[code], symbols[symbol] = code, code
        names |= dict.fromkeys(forms, code)
    units = {name: Unit(LiteralKind.MONEY, code) for name, code in names.items()}
    cent = Decimal("0.01")
    units |= {name: Unit(LiteralKind.MONEY, code, cent) for name, code in _CENTS.items()}
    known = {written: code for written, code in (codes | symbols).items() if code not in _NO_CODES}
    return _Currencies(known | _SYMBOLS, units)


# A single letter is a unit only if it cannot be a word or a name.
_LETTERS = frozenset({"m", "g", "h", "l", "s", "L", "V", "W"})
_ADJECTIVE = (
    r"(?:(?:consecutive|calendar|full|additional|extra|further|more|paid|unpaid|whole|entire|"
    r"straight|"
    r"long|fiscal|school|academic|continuous|successive|completed|solid|short|bonus)[ -])?"
)
_WORD = r"(?:U\.S\.|sq\.|°[CF]?|[%¢€£¥₹₽₩₪₱₫]|[A-Za-zµμ]{1,16}(?:/[hs](?!\w))?[²³23]?)"
_AFTER = re.compile(
    r"(?P<gap>-|\u2011|[ \t\u00a0\u202f\u2009]?\n?[ \t]{0,2})"
    rf"(?P<adj>{_ADJECTIVE})(?P<words>{_WORD}(?:[ -]{_WORD}){{0,2}})"
)
# "IU", "BTU", "mEq", but not "NGOs" or longer words in capitals.
_SYMBOL = re.compile(r"[ \u00a0\u202f]?(?P<word>(?![A-Z]+s\b|[A-Z]{4})[A-Za-zµμ]{2,5})(?![\w-])")
_CAPITAL = re.compile(r" [A-Z]")
_NEXT = re.compile(r" ([A-Za-z]+)")


def unit_after(text: str, at: int) -> tuple[Unit | None, int]:
    """The unit or currency at `at`, after an optional space or hyphen, and its end. Without a unit,
    the end is `at`."""
    found = _AFTER.match(text, at)
    if not found:
        return None, at
    start, end = found.span("words")
    while end > start:
        written = text[start:end]
        if not text[end : end + 1].isalnum() and (unit := named(written)):
            # "31 W Carrillo St" is an address.
            initial = written.isupper() and bool(_CAPITAL.match(text, end))
            short = len(written) == 1 and (initial or bool(found["adj"]))
            hyphened = written.lower() == "min" and found["gap"] == "-"
            return (None, at) if short or hyphened else (unit, end)
        end = start + max(written.rfind(" "), written.rfind("-"), 0)
    return None, at


def unknown_after(text: str, at: int) -> tuple[Unit | None, int]:
    """An unknown unit symbol as a unit that equals only itself: "500 IU", "5 mw"."""
    found = _SYMBOL.match(text, at)
    if not found or not text[at - 1].isdigit():
        return None, at
    word = found["word"]
    following = _NEXT.match(text, found.end())
    # In "5 NBA titles", the number counts titles.
    counted = following and following[1].lower() not in STOP_WORDS
    if in_other_case(word) or (word[1:] != word[1:].lower() and not counted):
        return Unit(LiteralKind.MEASURE, word), found.end()
    return None, at


@lru_cache(maxsize=16384)
def named(written: str) -> Unit | None:
    """The unit or currency named by a word or phrase: "kg", "working days", "Swiss francs"."""
    phrase = written.replace("-", " ").replace("sq.", "sq").replace(" an hour", " per hour")
    if len(phrase) == 1 and phrase.isalpha() and phrase not in _LETTERS:
        return None
    return measure(phrase) or money(phrase)
