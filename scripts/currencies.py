"""Writes the names and symbols of currencies that `text/literals/values.py` reads, from Babel.

    pip install babel==2.18.0 && python scripts/currencies.py

Babel takes 34 MB when installed; the table of English names takes 7 KB.
"""

from __future__ import annotations

from pathlib import Path

from babel import Locale
from babel.numbers import get_currency_name

FILE = Path(__file__).parent.parent / "src/suffice/text/literals/currencies.tsv"


def main() -> None:
    # The currencies in use today. For most of them, the symbol is the code.
    lines = [
        "\t".join((code, symbol, *(get_currency_name(code, n, "en").lower() for n in (1, 2))))
        for code, symbol in sorted(Locale("en").currency_symbols.items())
    ]
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
