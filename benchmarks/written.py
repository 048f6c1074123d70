"""Values in several notations, and near misses of them, for literal cases.

Independent of the package that reads literals, so that notations it cannot read are included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

NUMBER, DATE, UNIT = "number", "date", "unit"

_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen""".split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
MONTHS = """January February March April May June July August September October November
December""".split()


@dataclass(frozen=True, slots=True)
class Value:
    """One value: `writings` all express it, `edits` express other values, each with the change."""

    writings: tuple[str, ...]
    edits: tuple[tuple[str, str], ...]


Maker = Callable[[Random], Value]


def in_words(number: int) -> str:
    """A whole number under a thousand in words."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    hundreds, rest = divmod(number, 100)
    return f"{_ONES[hundreds]} hundred" + (f" and {in_words(rest)}" if rest else "")


def another(random: Random, number: int, least: int = 1) -> int:
    """A number close to this one, or with a digit changed, dropped or added."""
    near = {number + step for step in (-3, -2, -1, 1, 2, 3)}
    near |= {number * 10, number * 2, number + 10 ** (len(str(number)) - 1)}
    return random.choice(sorted(one for one in near if one >= least and one != number))


def count(random: Random) -> Value:
    """People and things, without a unit."""
    if random.random() < 0.4:
        number = random.randint(2, 60)
        other = another(random, number, 2)
        return Value((str(number), in_words(number)), ((NUMBER, str(other)), (NUMBER, _say(other))))
    number = random.randint(101, 60_000)
    other = another(random, number, 100)
    return Value((f"{number:,}", str(number)), ((NUMBER, f"{other:,}"), (NUMBER, str(other))))


def _say(number: int) -> str:
    return in_words(number) if number < 1000 else f"{number:,}"


def money(random: Random) -> Value:
    sign, code, word, other_sign, other_word = random.choice(
        (
            ("$", "USD", "dollars", "€", "euros"),
            ("€", "EUR", "euros", "$", "dollars"),
            ("£", "GBP", "pounds sterling", "€", "euros"),
        )
    )
    if random.random() < 0.5:
        tenths = random.randint(11, 990)
        whole = tenths * 100_000
        short = f"{tenths / 10:g}"
        other = f"{another(random, tenths, 11) / 10:g}"
        writings = [f"{sign}{short} million", f"{sign}{short}M", f"{short} million {word}"]
        writings += [f"{sign}{whole:,}", f"{code} {short} million"]
        if tenths % 10 == 0 and tenths < 200:
            writings.append(f"{in_words(tenths // 10)} million {word}")
        wrong = [(NUMBER, f"{sign}{other} million"), (NUMBER, f"{other} million {word}")]
        wrong += [(UNIT, f"{sign}{short} billion"), (UNIT, f"{other_sign}{short} million")]
        return Value(tuple(writings), tuple(wrong))
    amount = random.choice((random.randint(5, 99), random.randint(20, 99) * 10))
    amount = random.choice((amount, amount * 100))
    changed = another(random, amount, 5)
    writings = [f"{sign}{amount:,}", f"{amount:,} {word}", f"{code} {amount:,}"]
    wrong = [(NUMBER, f"{sign}{changed:,}"), (NUMBER, f"{changed:,} {word}")]
    wrong += [(UNIT, f"{other_sign}{amount:,}"), (UNIT, f"{amount:,} {other_word}")]
    return Value(tuple(writings), tuple(wrong))


def percent(random: Random) -> Value:
    if random.random() < 0.3:
        tenths = random.randint(11, 999)
        short, other = f"{tenths / 10:.1f}", f"{another(random, tenths, 11) / 10:.1f}"
        writings = (f"{short} %", f"{short}%", f"{short} percent", f"{short} per cent")
        return Value(writings, ((NUMBER, f"{other}%"), (NUMBER, f"{other} percent")))
    number = random.randint(2, 95)
    changed = another(random, number, 1) % 100 or 99
    changed = changed if changed != number else number + 1
    writings = (f"{number} %", f"{number}%", f"{number} percent", f"{in_words(number)} percent")
    wrong = ((NUMBER, f"{changed} %"), (NUMBER, f"{changed} percent"), (NUMBER, f"{changed}%"))
    return Value(writings, (*wrong, (UNIT, f"{number} percentage points")))


_SPANS = (("hour", 60, "minute"), ("day", 24, "hour"), ("week", 7, "day"), ("year", 12, "month"))


def duration(random: Random) -> Value:
    place = random.randrange(len(_SPANS))
    unit, parts, smaller = _SPANS[place]
    number = random.randint(2, 36)
    changed = another(random, number, 2)
    other = random.choice([one for one, *_ in _SPANS if one != unit] + ["month"] * (unit != "year"))
    writings = (
        f"{number} {unit}s",
        f"{in_words(number)} {unit}s",
        f"{number * parts} {smaller}s",
    )
    wrong = ((NUMBER, f"{changed} {unit}s"), (NUMBER, f"{_say(changed)} {unit}s"))
    return Value(writings, (*wrong, (UNIT, f"{number} {other}s")))


_LENGTHS = (("km", "kilometres", 1000, "metres", "miles"), ("m", "metres", 100, "cm", "feet"))
_WEIGHTS = (
    ("kg", "kilograms", 1000, "grams", "pounds"),
    ("tonnes", "metric tons", 1000, "kg", "grams"),
)
_VOLUMES = (("litres", "litres", 1000, "ml", "gallons"),)
_SIZES = (("GB", "gigabytes", 1000, "MB", "TB"),)
_Measure = tuple[str, str, int, str, str]


def length(random: Random) -> Value:
    return _measure(random, random.choice(_LENGTHS))


def weight(random: Random) -> Value:
    return _measure(random, random.choice(_WEIGHTS))


def volume(random: Random) -> Value:
    return _measure(random, random.choice(_VOLUMES))


def size(random: Random) -> Value:
    return _measure(random, random.choice(_SIZES))


def _measure(random: Random, measure: _Measure) -> Value:
    short, word, parts, smaller, other = measure
    number = random.randint(2, 120)
    changed = another(random, number, 2)
    writings = (f"{number} {short}", f"{number} {word}", f"{number * parts:,} {smaller}")
    wrong = ((NUMBER, f"{changed} {short}"), (NUMBER, f"{changed} {word}"))
    return Value(writings, (*wrong, (UNIT, f"{number} {other}")))


def written_dates(day: date) -> Iterator[str]:
    month = MONTHS[day.month - 1]
    yield f"{day.day} {month} {day.year}"
    yield f"{month} {day.day}, {day.year}"
    yield day.isoformat()
    yield f"{day.day} {month[:3]} {day.year}"
    yield f"the {day.day}{_ending(day.day)} of {month} {day.year}"


def _ending(number: int) -> str:
    return "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def day(random: Random) -> Value:
    here = date(1995, 1, 1) + timedelta(days=random.randint(0, 12_500))
    others = {here + timedelta(days=random.randint(1, 9)), here + timedelta(days=31)}
    others |= {here.replace(day=min(here.day, 28), year=here.year + random.choice((-1, 1, 10)))}
    wrong = [(DATE, one) for other in sorted(others) for one in list(written_dates(other))[:3]]
    return Value(tuple(written_dates(here)), tuple(wrong))


def month(random: Random) -> Value:
    number, year = random.randint(1, 12), random.randint(1995, 2026)
    other = MONTHS[(number + random.randint(0, 10)) % 12]
    name = MONTHS[number - 1]
    near = year + random.choice((-2, -1, 1, 2))
    writings = (f"{name} {year}", f"{name[:3]} {year}" if len(name) > 4 else f"{name} of {year}")
    return Value(writings, ((DATE, f"{other} {year}"), (DATE, f"{name} {near}")))


def year(random: Random) -> Value:
    number = random.randint(1950, 2026)
    other = number + random.choice((-10, -3, -2, -1, 1, 2, 3, 10))
    return Value((str(number),), ((DATE, str(other)),))


def clock(random: Random) -> Value:
    hour, minutes = random.randint(1, 11), random.choice((0, 15, 30, 45))
    half = random.choice(("a.m.", "p.m."))
    other = "p.m." if half == "a.m." else "a.m."
    past = f":{minutes:02d}" if minutes else ""
    full = hour + (12 if half == "p.m." else 0)
    changed = hour % 11 + 1
    short = f"{hour}{past} {half.replace('.', '')}"
    writings = (f"{hour}{past} {half}", short, f"{full:02d}:{minutes:02d}")
    wrong = ((NUMBER, f"{changed}{past} {half}"), (UNIT, f"{hour}{past} {other}"))
    return Value(writings, wrong)


def article(random: Random) -> Value:
    label, short = random.choice((("Article", "Art."), ("Section", "Sec."), ("Section", "§")))
    number = random.randint(2, 60)
    inner = f".{random.randint(1, 9)}" if label == "Section" else ""
    other = another(random, number, 1)
    writings = (f"{label} {number}{inner}", f"{short} {number}{inner}")
    return Value(writings, ((NUMBER, f"{label} {other}{inner}"),))


def form(random: Random) -> Value:
    letters = "".join(random.choice("ABCDEFGHKLMNPRSTVX") for _ in range(2))
    number = random.randint(2, 990)
    other = another(random, number, 1)
    return Value((f"{letters}-{number}",), ((NUMBER, f"{letters}-{other}"),))


def release(random: Random) -> Value:
    major, minor = random.randint(1, 9), random.randint(0, 9)
    writings = (f"version {major}.{minor}", f"v{major}.{minor}")
    wrong = ((NUMBER, f"version {major}.{minor + 1}"), (NUMBER, f"version {major + 1}.{minor}"))
    return Value(writings, wrong)
