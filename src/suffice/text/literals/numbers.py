"""Numbers in digits and in words, as exact decimals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Context, Decimal, InvalidOperation

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
