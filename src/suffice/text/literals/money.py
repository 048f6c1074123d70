"""Currencies by code, symbol and English name.

`scripts/currencies.py` writes them to `currencies.tsv`, from Unicode CLDR by way of Babel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path

from suffice.text.literals.values import LiteralKind, Unit

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
