"""Units, each as a factor to the canonical unit of its dimension; months are never 30 days."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from suffice.text.literals.values import LiteralKind


@dataclass(frozen=True, slots=True)
class Unit:
    """`value = amount * factor + shift`, in `canonical`."""

    kind: LiteralKind
    canonical: str
    factor: Decimal = Decimal(1)
    shift: Decimal = Decimal(0)


_DURATIONS = {
    "second": "1 second seconds sec secs s",
    "minute": "60 minute minutes min mins",
    "hour": "3600 hour hours hr hrs h",
    "day": "86400 day days",
    "week": "604800 week weeks wk wks",
    "fortnight": "1209600 fortnight fortnights",
    "millisecond": "0.001 millisecond milliseconds ms",
}
_MONTHS = {
    "month": "1 month months mo mos",
    "quarter": "3 quarters",
    "year": "12 year years yr yrs",
    "decade": "120 decade decades",
    "century": "1200 century centuries",
}
_MEASURES = {
    "gram": """1 g gram grams gramme grammes|0.001 mg milligram milligrams|1000 kg kgs kilogram
        kilograms kilo kilos|1000000 tonne tonnes|453.59237 lb lbs pound pounds
        |28.349523125 oz ounce ounces|0.000001 µg mcg microgram micrograms""",
    "metre": """1 m metre metres meter meters|0.001 mm millimetre millimetres millimeter millimeters
        |0.01 cm centimetre centimetres centimeter centimeters|1000 km kms kilometre kilometres
        kilometer kilometers|0.0254 inch inches|0.3048 ft foot feet|0.9144 yd yard yards
        |1609.344 mile miles mi|0.000000001 nm nanometre nanometres nanometer nanometers""",
    "square metre": """1 m² m2 sqm|10000 ha hectare hectares|4046.8564224 acre acres|1000000 km²
        km2|0.09290304 sqft""",
    "litre": """1 l litre litres liter liters|0.001 ml millilitre millilitres milliliter milliliters
        |3.785411784 gallon gallons|0.01 cl|0.2365882365 cup cups|0.473176473 pint pints
        |0.946352946 quart quarts""",
    "byte": """1 byte bytes|1000 kb kilobyte kilobytes|1000000 mb megabyte megabytes|1000000000 gb
        gigabyte gigabytes|1000000000000 tb terabyte terabytes
        |1024 kib|1048576 mib|1073741824 gib""",
    "metre per second": "0.44704 mph|0.27777778 km/h kph kmh|1 m/s",
    "watt": "1 watt watts|1000 kw kilowatt kilowatts|1000000 mw megawatt megawatts|1000000000 gw",
    "watt hour": "1000 kwh|1000000 mwh",
    "hertz": "1 hz hertz|1000 khz|1000000 mhz|1000000000 ghz",
    "kilocalorie": "1 kcal calorie calories",
    "volt": "1 volt volts",
    "decibel": "1 db decibel decibels",
}


def _table() -> dict[str, Unit]:
    table: dict[str, Unit] = {}
    for canonical, rows in (("second", _DURATIONS), ("month", _MONTHS)):
        for line in rows.values():
            factor, *words = line.split()
            for word in words:
                table[word] = Unit(LiteralKind.DURATION, canonical, Decimal(factor))
    for canonical, lines in _MEASURES.items():
        for line in lines.split("|"):
            factor, *words = line.split()
            for word in words:
                table[word] = Unit(LiteralKind.MEASURE, canonical, Decimal(factor))
    percent = Unit(LiteralKind.PERCENTAGE, "percent")
    points = Unit(LiteralKind.PERCENTAGE, "percentage point")
    table |= dict.fromkeys(("%", "percent", "pct", "per cent"), percent)
    table |= dict.fromkeys(
        (
            "percentage point",
            "percentage points",
            "percent points",
            "percent point",
            "pp",
            "%-points",
        ),
        points,
    )
    basis = Unit(LiteralKind.PERCENTAGE, "percentage point", Decimal("0.01"))
    table |= dict.fromkeys(("basis point", "basis points", "bps"), basis)
    celsius = Unit(LiteralKind.MEASURE, "degree Celsius")
    table |= dict.fromkeys(
        ("°c", "degrees celsius", "degree celsius", "degrees centigrade"), celsius
    )
    five_ninths = Decimal(5) / 9
    fahrenheit = Unit(LiteralKind.MEASURE, "degree Celsius", five_ninths, -32 * five_ninths)
    table |= dict.fromkeys(("°f", "degrees fahrenheit", "degree fahrenheit"), fahrenheit)
    table |= dict.fromkeys(("°", "degrees", "degree"), Unit(LiteralKind.MEASURE, "degree"))
    square_foot = table["sqft"]
    table |= dict.fromkeys(("square foot", "square feet", "sq ft", "sq. ft"), square_foot)
    table |= dict.fromkeys(
        ("square metre", "square metres", "square meter", "square meters"), table["sqm"]
    )
    table |= dict.fromkeys(("square kilometres", "square kilometers"), table["km2"])
    table["square miles"] = Unit(LiteralKind.MEASURE, "square metre", Decimal("2589988.110336"))
    for rate in ("per hour", "an hour"):
        table |= dict.fromkeys((f"miles {rate}", f"mile {rate}"), table["mph"])
        table |= dict.fromkeys(
            (f"km {rate}", f"kilometres {rate}", f"kilometers {rate}"), table["km/h"]
        )
    metric_ton = Unit(LiteralKind.MEASURE, "gram", Decimal(1000000))
    table |= dict.fromkeys(("metric ton", "metric tons"), metric_ton)
    table |= dict.fromkeys(("ton", "tons"), Unit(LiteralKind.MEASURE, "ton"))
    for word in ("working", "business", "work", "banking"):
        for days in ("day", "days"):
            table[f"{word} {days}"] = Unit(LiteralKind.DURATION, "working day")
    table |= dict.fromkeys(("night", "nights"), Unit(LiteralKind.DURATION, "night"))
    table |= dict.fromkeys(("times", "time"), Unit(LiteralKind.NUMBER, "time"))
    return table


UNITS = _table()
# One letter after a space is a unit only where it cannot be a word or a name.
_SPACED_LETTERS = frozenset({"m", "g", "h", "l", "s"})

SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW"}
SYMBOLS |= {"US$": "USD", "C$": "CAD", "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "NZ$": "NZD"}
SYMBOLS |= {"HK$": "HKD", "S$": "SGD", "R$": "BRL"}
CODES = frozenset(
    """USD EUR GBP JPY CHF CAD AUD NZD CNY INR SEK NOK DKK PLN CZK HUF BRL MXN ZAR KRW SGD HKD
    RUB""".split()
)
CURRENCIES = {
    "dollar": "USD", "us dollar": "USD", "u.s. dollar": "USD", "american dollar": "USD",
    "buck": "USD", "euro": "EUR", "pound sterling": "GBP", "pounds sterling": "GBP",
    "british pound": "GBP", "yen": "JPY", "swiss franc": "CHF", "franc": "CHF", "yuan": "CNY",
    "rupee": "INR", "canadian dollar": "CAD", "australian dollar": "AUD", "krona": "SEK",
    "zloty": "PLN", "rand": "ZAR", "rouble": "RUB", "ruble": "RUB",
}  # fmt: skip
_CENTS = {"cent": "USD", "cents": "USD", "¢": "USD", "pence": "GBP", "eurocents": "EUR"}

_ADJECTIVE = (
    r"(?:(?:consecutive|calendar|full|additional|extra|further|more|paid|unpaid|whole|entire|"
    r"straight|"
    r"long|fiscal|school|academic|continuous|successive|completed|solid|short|bonus)[ -])?"
)
_AFTER = re.compile(
    r"(?P<gap>-|\u2011|[ \t\u00a0\u202f\u2009]?\n?[ \t]{0,2})"
    rf"(?P<adj>{_ADJECTIVE})"
    r"(?P<two>[A-Za-z]{2,12}\.?[A-Za-z]?\.?[ -](?:[Ff]ranc|[Dd]ollar|[Pp]ound|[Ss]terling|[Dd]ay|"
    r"[Pp]oint|"
    r"cent|[Ff]ahrenheit|[Cc]elsius|centigrade|foot|feet|ft|metre|meter|kilomet(?:re|er)|mile|"
    r"ton)s?"
    r"(?: per hour)?|(?:miles|km|kilomet(?:re|er)s) (?:per|an) hour)?"
    r"(?P<one>%-points|km/h|m/s|m²|km²|°[CF]?|%|¢|€|£|[A-Za-zµ]{1,12}2?)?",
)


def unit_after(text: str, at: int) -> tuple[Unit | None, str, int]:
    """The unit that starts at `at` (past a space or hyphen): unit, currency code, end; else at."""
    found = _AFTER.match(text, at)
    if not found:
        return None, "", at
    two, one, adjective = found["two"], found["one"], found["adj"]
    if two:
        word = " ".join(two.lower().replace("-", " ").split())
        unit, code = _named(word)
        if unit or code:
            return unit, code, found.end("two")
        # The long form was no unit: read the first of its words alone.
        one_end = found.start("two") + len(re.split(r"[ -]", two, maxsplit=1)[0])
        one = text[found.start("two") : one_end]
    elif one:
        one_end = found.end("one")
    if not one or text[one_end : one_end + 1].isalnum():
        return None, "", at
    if one in CODES:
        return None, one, one_end
    if one in ("€", "£"):
        return None, SYMBOLS[one], one_end
    spaced = found["gap"] not in ("", "-")
    lower = one.lower()
    if len(one) == 1 and one.isalpha() and (one not in _SPACED_LETTERS or (adjective and spaced)):
        return None, "", at
    if lower in ("time", "min") and found["gap"] == "-":
        return None, "", at
    if lower in _CENTS:
        return Unit(LiteralKind.MONEY, _CENTS[lower], Decimal("0.01")), "", one_end
    unit, code = _named(lower)
    if unit and unit.canonical == "time" and lower == "time":
        return None, "", at
    return (unit, code, one_end) if unit or code else (None, "", at)


def _named(word: str) -> tuple[Unit | None, str]:
    if word in UNITS:
        return UNITS[word], ""
    code = CURRENCIES.get(word) or CURRENCIES.get(word.removesuffix("s"))
    return None, code or ""
