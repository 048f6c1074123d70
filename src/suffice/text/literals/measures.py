"""Units by name and symbol, from pint. Symbols are case-sensitive."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from suffice.text.literals.values import LiteralKind, Unit

if TYPE_CHECKING:
    from pint import UnitRegistry

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
