"""Numbers in digits and in words, as exact decimals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation

from suffice.text.literals.values import LiteralKind, Unit, unit_after, unknown_after
from suffice.text.literals.values import currency as currency_code

_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen""".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SMALL = {word: value for value, word in enumerate(_ONES)}
SMALL |= {word: value for value, word in zip(range(20, 100, 10), _TENS, strict=True)}
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
SUFFIXES = {
    "k": 10**3, "K": 10**3, "M": 10**6, "mn": 10**6, "mln": 10**6, "mio": 10**6, "MM": 10**6,
    "bn": 10**9, "B": 10**9, "b": 10**9, "tn": 10**12, "T": 10**12, "m": 10**6,
}  # fmt: skip

_ORDINAL_ONES = """zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh
twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth""".split()
_ORDINAL_TENS = """twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth
ninetieth""".split()
ORDINALS = {word: value for value, word in enumerate(_ORDINAL_ONES) if value}
ORDINALS |= {word: value for value, word in zip(range(20, 100, 10), _ORDINAL_TENS, strict=True)}

DIGITS = (
    r"(?:\d{1,3}(?:,\d{3}){1,12}(?!\d)(?:\.\d+)?"
    r"|\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,12}(?![\d]|[,.]\d{3}|[ \u00a0]\d)(?:\.\d+)?"
    r"|\d{1,3}(?:\.\d{3}){1,12},\d{1,2}(?!\d)"
    r"|\d+(?:\.\d+)?|\.\d+)"
)
_WORD = "|".join(sorted((*SMALL, "hundred", *SCALES), key=len, reverse=True))
_SPACE = r"[ \u00a0\n]{1,2}"
WORDS = (
    rf"(?:(?:{_WORD})(?:(?:{_SPACE}|-)(?:and{_SPACE})?(?:{_WORD})(?![^\W\d_])){{0,20}}(?![^\W\d_])"
    rf"|an?{_SPACE}(?:hundred|thousand|million|billion|trillion|dozen)(?![^\W\d_]))"
)
_SIGNIFICANT = Context(prec=20)
_MAX_DIGITS = 40
_RUN = re.compile(r"\d+")


def at_digits(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Like `pattern.finditer(text)`, but tried only at digits. The pattern must start with a digit.

    A pattern that opens with a look-behind would otherwise be tried at every character.
    """
    end = 0
    for run in _RUN.finditer(text):
        if run.start() >= end and (found := pattern.match(text, run.start())):
            yield found
            end = found.end()


def digits_value(written: str) -> Decimal | None:
    """The value of a number in digits ("1,200", "1 200", "1.200,50", "4.2"); `None` if too long."""
    if len(written) > _MAX_DIGITS:
        return None
    plain = re.sub(r"[ \u00a0\u202f]", "", written)
    if "," in plain and "." in plain and plain.rindex(",") > plain.rindex("."):
        plain = plain.replace(".", "").replace(",", ".")
    try:
        return Decimal(plain.replace(",", ""))
    except InvalidOperation:
        return None


def significant(value: Decimal) -> Decimal:
    """The value rounded to 20 digits, which removes conversion residue, in the form of `plain`."""
    return plain(_SIGNIFICANT.plus(value))


def plain(value: Decimal) -> Decimal:
    """The same value without an exponent or trailing zeros: 4.20E+6 is 4200000, 1.50 is 1.5."""
    if value == value.to_integral_value():
        return Decimal(int(value))
    return value.normalize()


def words_value(written: str) -> tuple[Decimal, int] | None:
    """The value of the longest spelled-out number at the start of `written`, and where it ends."""
    total = current = 0
    end = 0
    seen = False
    pending_and = False
    for token in re.finditer(r"[a-z]+", written.lower()):
        word = token[0]
        if word in ("a", "an"):
            current, seen = 1, True
            continue
        if word == "and":
            pending_and = True
            continue
        if word in SMALL:
            step = SMALL[word]
            if pending_and and not (total or current >= 100):
                break
            if seen and not _fits(current, step, total):
                break
            current += step
        elif word == "hundred" and 0 < current < 100 and not pending_and:
            current *= 100
        elif word == "dozen" and current:
            current *= 12
        elif word in SCALES and current and not pending_and and _below(total, SCALES[word]):
            total, current = total + current * SCALES[word], 0
        else:
            break
        seen, pending_and, end = True, False, token.end()
    return (Decimal(total + current), end) if end else None


def _fits(current: int, step: int, total: int) -> bool:
    if current % 100 == 0:
        return current > 0 or total > 0
    return current % 100 >= 20 and current % 10 == 0 and 0 < step < 10


def _below(total: int, scale: int) -> bool:
    return total == 0 or total % (scale * 1000) == 0


@dataclass(frozen=True, slots=True)
class Atom:
    """A number with its unit; `unit` is `None` for a plain number."""

    start: int
    end: int
    amount: Decimal
    unit: Unit | None = None
    kind: LiteralKind = LiteralKind.NUMBER
    scaled: bool = False

    @property
    def value(self) -> Decimal:
        if self.unit is None:
            return plain(self.amount)
        return significant((self.amount + self.unit.shift) * self.unit.factor)

    @property
    def canonical(self) -> str:
        return self.unit.canonical if self.unit else ""


_DENOMINATORS = {"half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5}
_DENOMINATORS |= {"sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "hundredth": 100}
_GLYPHS = {"½": "0.5", "¼": "0.25", "¾": "0.75", "⅓": "0.333333333", "⅔": "0.666666667"}
_GLYPHS |= {"⅛": "0.125", "⅕": "0.2"}
_ORDINAL = "|".join(sorted(ORDINALS, key=len, reverse=True))
_DOLLARS = (Unit(LiteralKind.MONEY, "CAD"), Unit(LiteralKind.MONEY, "AUD"))
_SCALE_WORDS = SCALES | {"hundred": 100, "dozen": 12}

_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_])(?<!\d[.,])(?:"
    r"(?:(?P<sign>(?<![^\s(|\"])[-\u2212]|(?i:minus|negative)[ ])?"
    rf"(?P<currency>(?:[A-Z]{{0,2}}\$|(?:CN)?¥|[€£₹₽₩₪₱₫])[ ]?|[A-Z]{{3}}[ \u00a0])?"
    r"(?P<inner>[-\u2212])?"
    rf"(?:(?P<slash>\d{{1,2}}/\d{{1,3}})(?![\d/])|(?P<digits>{DIGITS}))"
    r"(?P<mixed>[½¼¾⅓⅔⅛⅕]|[ ]\d/\d(?![\d/]))?)"
    r"|(?P<glyph>[½¼¾⅓⅔⅛⅕])"
    r"|(?P<share>(?i:a|one|two|three|four|five|six|seven|eight|nine)[ -]"
    r"(?i:half|halve|third|quarter|fourth|fifth|sixth|seventh|eighth|ninth|tenth|hundredth)s?"
    r"(?![^\W\d_]))"
    r"|(?P<half>(?i:half(?=[ -][A-Za-z])))"
    r"|(?P<often>(?i:once|twice)(?=[ ](?:an?|per|every|each|in|daily|weekly|monthly|yearly)[ ]))"
    rf"|(?P<ordinal>(?i:(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|"
    rf"ninety)-)?(?:{_ORDINAL}))(?![^\W\d_]))"
    rf"|(?:(?i:(?P<minus>minus|negative)[ ])?(?P<words>(?i:{WORDS})))"
    r")"
)
_TAIL = re.compile(r"[A-Za-zµ]+")
_SCALE = re.compile(
    r"[ \u00a0-]?\n?(?P<word>hundred|thousand|million|billion|trillion|dozen)s?\b", re.I
)
_SPACED_SUFFIX = re.compile(r"[ \u00a0](?P<word>bn|mn|mln|m|k|tn)\b")
_AND_A_HALF = re.compile(r"[ -]and[ -](?:an?[ -](half|quarter)|(half))\b", re.I)
_NOUN_NEXT = re.compile(
    r"\s+(?!in\b|at\b|to\b|on\b|by\b|and\b|or\b|of\b|for\b|is\b|was\b)[a-z]{3,}"
)
_HALF_NEXT = re.compile(
    r"[ -](?:an?[ -])?(?:(?P<scale>million|billion|thousand|dozen)\b|(?=(?P<unit>[a-z]+)))", re.I
)
_NOUN_AFTER_ORDINAL = re.compile(
    r"[ -](?!two|three|four|five|six|seven|eight|nine|ten|time|and|of|the|as|off|place|half|"
    r"to)[a-z]{3,}"
)
_COUNTED_NEXT = re.compile(
    r" (?!of|another|or|and|can|could|must|may|might|should|would|will|who|whose|that|which|for|"
    r"has|had|from|with|the|when|where|day|thing|way|hand|side|reason|example|such|more|time)"
    r"[a-z]{3,}"
)
_AGAIN = re.compile(r" \((\d[\d,]{0,14})\)(?= )")  # "five (5) days"
_DECIMAL_COMMA = re.compile(r",(\d{1,2})(?![\d,]|\.\d)")
_OF_A_SCALE = re.compile(r" of an? (?P<scale>thousand|million|billion|trillion|dozen)\b", re.I)
_OF_NEXT = re.compile(r"\s+(?:of|the|as)\b")


def atoms(text: str, taken: bytearray) -> Iterator[Atom]:
    """The quantities of a text in order. Characters marked in `taken` are skipped."""
    at = 0
    while found := _NUMBER.search(text, at):
        at = found.end()
        if (first := taken.find(1, found.start(), found.end())) >= 0:
            # Skip only the taken characters: the rest may still contain a number.
            at = first
            while at < len(text) and taken[at]:
                at += 1
            continue
        atom = _read(text, found)
        if atom and not any(taken[atom.start : atom.end]):
            at = max(at, atom.end) if atom.end > found.start() else at
            if found["words"]:
                at = atom.end
            yield atom


def _read(text: str, found: re.Match[str]) -> Atom | None:
    if found["ordinal"]:
        return _ordinal(text, found)
    if found["share"]:
        return _share(text, found)
    if found["half"]:
        return _half(text, found)
    if found["often"]:
        times = Decimal(1 if found["often"].lower() == "once" else 2)
        return Atom(found.start(), found.end(), times, Unit(LiteralKind.NUMBER, "time"))
    if found["glyph"]:
        return _with_unit(
            text, found.start(), found.end(), Decimal(_GLYPHS[found["glyph"]]), "", True
        )
    if found["words"]:
        return _worded(text, found)
    return _digital(text, found)


def _worded(text: str, found: re.Match[str]) -> Atom | None:
    read = words_value(found["words"])
    if read is None:
        return None
    value, length = read
    end = found.start("words") + length
    if half := _AND_A_HALF.match(text, end):
        value += Decimal("0.5") if (half[1] or half[2]).lower() == "half" else Decimal("0.25")
        end = half.end()
        if scale := _SCALE.match(text, end):
            value, end = value * _SCALE_WORDS[scale["word"].lower()], scale.end("word")
    elif (scale := _SCALE.match(text, end)) and scale["word"].lower() == "dozen":
        value, end = value * 12, scale.end("word")
    if (again := _AGAIN.match(text, end)) and Decimal(again[1].replace(",", "")) == value:
        end = again.end()
    if found["minus"]:
        value = -value
    atom = _with_unit(text, found.start(), end, value, "", False)
    # "one" is usually a pronoun: it counts only with a unit, or right before the noun it counts.
    counts = found["words"].lower() == "one" and _COUNTED_NEXT.match(text, end)
    if found["words"].lower() in ("one", "zero") and atom.unit is None and not counts:
        return None
    return atom


def _digital(text: str, found: re.Match[str]) -> Atom | None:
    fraction = bool(found["slash"])
    if fraction:
        top, bottom = (int(part) for part in found["slash"].split("/"))
        if not 0 < top < bottom or bottom > 100:
            return None
        value: Decimal | None = Decimal(top) / bottom
    else:
        value = digits_value(found["digits"])
    if value is None:
        return None
    if mixed := found["mixed"]:
        top_bottom = mixed.strip().split("/")
        if len(top_bottom) == 1:
            value += Decimal(_GLYPHS[mixed])
        elif top_bottom[1] != "0":
            value += Decimal(top_bottom[0]) / Decimal(top_bottom[1])
    currency = currency_code((found["currency"] or "").strip())
    # In "IBM 500", only the number is a quantity.
    start = found.start() if currency or not found["currency"] else found.end("currency")
    if found["inner"] or (found["sign"] and start == found.start()):
        value = -value
    end = found.end()
    comma = _DECIMAL_COMMA.match(text, end)
    whole = value == value.to_integral_value() and "," not in found[0]
    if comma and whole and (currency or unit_after(text, comma.end())[0]):
        value, end = value + Decimal(f"0.{comma[1]}").copy_sign(value), comma.end()
    return _tailed(text, start, end, value, currency, fraction)


def _tailed(
    text: str, start: int, end: int, value: Decimal, currency: str, fraction: bool
) -> Atom | None:
    tail = _TAIL.match(text, end)
    suffix = tail[0] if tail else ""
    if suffix in ("st", "nd", "rd", "th"):
        return Atom(start, end + 2, value, None, LiteralKind.ORDINAL)
    scaled = False
    if suffix in SUFFIXES:
        million = suffix != "m" or currency or _NOUN_NEXT.match(text, end + 1)
        if million and (suffix not in ("T", "tn", "b") or currency):
            value, end, scaled = value * SUFFIXES[suffix], end + len(suffix), True
    elif suffix == "x" or (not suffix and text[end : end + 1] == "×"):
        return Atom(start, end + 1, value, Unit(LiteralKind.NUMBER, "time"))
    elif not suffix:
        if half := _AND_A_HALF.match(text, end):
            value += Decimal("0.5") if (half[1] or half[2]).lower() == "half" else Decimal("0.25")
            end = half.end()
        if scale := _SCALE.match(text, end):
            value, end = value * _SCALE_WORDS[scale["word"].lower()], scale.end("word")
            scaled = True
        elif (scale := _SPACED_SUFFIX.match(text, end)) and (currency or len(scale["word"]) > 1):
            value, end, scaled = value * SUFFIXES[scale["word"]], scale.end(), True
    atom = _with_unit(text, start, end, value, currency, fraction, scaled)
    if suffix and not scaled and atom.end == end:
        return None  # "3D", "5G": a code, not a number
    return atom


def _with_unit(
    text: str,
    start: int,
    end: int,
    value: Decimal,
    currency: str,
    fraction: bool,
    scaled: bool = False,
) -> Atom:
    unit, after = unit_after(text, end)
    if currency:
        money = Unit(LiteralKind.MONEY, currency)
        # "$5 USD" names its currency twice. Any other word after an amount of money is unrelated.
        if unit in (money, *_DOLLARS):
            money, end = unit, after
        return Atom(start, end, value, money, LiteralKind.MONEY, scaled)
    if unit is None:
        unit, after = unknown_after(text, end)
    if unit and not (unit.canonical in ("meter", "gram") and scaled and after == end + 2):
        return Atom(start, after, value, unit, unit.kind, scaled)
    if fraction:
        percent = Unit(LiteralKind.FRACTION, "percent", Decimal(100))
        return Atom(start, end, value, percent, LiteralKind.FRACTION)
    return Atom(start, end, value, None, LiteralKind.NUMBER, scaled)


def _ordinal(text: str, found: re.Match[str]) -> Atom | None:
    word = found["ordinal"].lower()
    tens, _, ones = word.rpartition("-")
    value = ORDINALS[ones] + (words_value(tens) or (Decimal(0), 0))[0]
    # "second" is also a unit, and "first" an adverb or list marker: a noun must follow.
    if value <= 3 and not _NOUN_AFTER_ORDINAL.match(text, found.end()):
        return None
    return Atom(found.start(), found.end(), Decimal(value), None, LiteralKind.ORDINAL)


def _share(text: str, found: re.Match[str]) -> Atom | None:
    top, _, bottom = re.sub(r"[ -]", " ", found["share"].lower()).partition(" ")
    plural = bottom.endswith("s")
    count = Decimal(1) if top in ("a", "one") else (words_value(top) or (Decimal(1), 0))[0]
    bottom = bottom.removesuffix("s")
    if scale := _OF_A_SCALE.match(text, found.end()):  # "a quarter of a million"
        amount = count * _SCALE_WORDS[scale["scale"].lower()] / _DENOMINATORS[bottom]
        return _with_unit(text, found.start(), scale.end(), amount, "", False, scaled=True)
    # "a third option" and "a quarter" of the year are not shares.
    singular_share = _OF_NEXT.match(text, found.end()) or (top == "one" and "-" in found["share"])
    if not plural and not singular_share:
        return None
    if bottom == "quarter" and plural and not _OF_NEXT.match(text, found.end()) and count > 3:
        return None
    return _with_unit(
        text, found.start(), found.end(), count / _DENOMINATORS[bottom], "", fraction=True
    )


def _half(text: str, found: re.Match[str]) -> Atom | None:
    start, end = found.span()
    if re.search(
        r"(?:first|second|other|latter|last|top|bottom|back|in)[ -]$",
        text[max(0, start - 8) : start],
        re.I,
    ):
        return None
    half = Decimal("0.5")
    following = _HALF_NEXT.match(text, end)
    if following and following["scale"]:
        scaled = half * _SCALE_WORDS[following["scale"].lower()]
        return _with_unit(text, start, following.end("scale"), scaled, "", False, scaled=True)
    if following and following["unit"]:
        atom = _with_unit(text, start, following.end() - 1, half, "", fraction=False)
        if atom.unit and atom.kind is not LiteralKind.PERCENTAGE:
            return atom
    if _OF_NEXT.match(text, end) or re.match(
        r" (?:his|her|its|their|our|my|all)\b", text[end : end + 7]
    ):
        return Atom(
            start,
            end,
            half,
            Unit(LiteralKind.FRACTION, "percent", Decimal(100)),
            LiteralKind.FRACTION,
        )
    return None
