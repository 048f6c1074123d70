"""Reads identifiers, versions and quotations, which are compared by their normalised spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from suffice.text.literals.numbers import SUFFIXES
from suffice.text.literals.values import Literal, LiteralKind, named
from suffice.text.words import STOP_WORDS

# Citation marks and list numbers are not literals, so nothing inside them is read.
_MARKS = re.compile(
    r"\[\^?\d{1,3}(?:[ ]?[,;–-][ ]?\d{1,3}){0,20}\]|(?m:^[ \t]*(?:>[ ]?)?(?:\d{1,3}[.)]|"
    r"\(\d{1,3}\))(?=\s))"
    r"|(?m:^[ \t]*#{1,6}[ ]\d{1,2}(?:\.\d{1,2}){0,3}\.?(?=\s))"
    r"|(?i:\bcovid-19\b)"  # a name, although it contains a number
)
_ADDRESS = re.compile(
    r"(?:https?://|www\.)[^\s<>\"')\]]+|"
    r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+"
)
_PHONE = re.compile(
    r"(?<![\w+])(?:\+\d{1,3}(?:[ .-]?\(?\d{1,4}\)?){2,6}|\(\d{3}\)[ ]?\d{3}-\d{4}|"
    r"\d{3}-\d{3}-\d{4}|"
    r"1-8\d\d-\d{3}-\d{4})(?!\w)"
)
_STANDARD = re.compile(
    r"(?<![\w-])(?P<body>ISO(?:/IEC)?|IEC|DIN(?: EN)?(?: ISO)?|NIST SP|RFC|IEEE|ANSI|HTTP|CVE)[ -]"
    r"(?P<number>\d[\dA-Za-z]{0,8}(?:[-.:/]\d[\dA-Za-z]{0,8}){0,6})"
)
_LABELS = {"art": "article", "sec": "section", "sect": "section", "§": "section", "fig": "figure"}
_LABELS |= {"para": "paragraph", "no": "number", "№": "number", "ch": "chapter", "p": "page"}
_LABELLED = re.compile(
    r"(?<![\w-])(?P<label>§|№|(?:(?i:article|section|sect|sec|clause|chapter|paragraph|annex|"
    r"appendix|schedule|"
    r"rule|form|figure|fig|table|part|step|level|phase|tier|grade|band|class|type|stage|regulation|"
    r"directive|room|building|page|volume|season|episode|highway|route|flight|item|line|gate|zone|"
    r"lot|"
    r"option|exhibit|passage|document|slide|question|amendment|title|number|category|ticket|order|"
    r"invoice|block|unit|act)|Art|No|Week|week|Day|Series)(?P<plural>s)?)\.?[ \u00a0]?"
    r"(?:(?P<of>no\.|"
    r"number) )?(?P<number>#?[A-Z]{0,4}-?\d{1,8}(?:[./-]\d{1,6}){0,6}[a-z]?(?:\(\w{1,4}\)){0,4}"
    r"|(?<=[a-z] )[IVX]{1,6}(?=\W|$)|(?<=[a-z] )[A-Z](?=[\s,.;:)\"]|$))(?!\w|,\d{3}|\.\d)"
    r"(?![ ]?(?:%|percent\b|per cent\b))"
)
_MORE = re.compile(
    r"(?:,|,? (?:and|or|to)|[ ]?[&–-])[ ]?(?P<number>\d{1,4}(?:\.\d{1,4}){0,4})(?![\w%]|[.,]\d)"
)
_VERSION = re.compile(
    r"(?<![\w.])(?:(?i:(?:version|release|ver\.)[: ]{1,2}\"?v?)|"
    r"v)(?P<number>\d{1,6}(?:\.\d{1,6}){0,5}"
    r"(?:-[a-z]{1,6}\.?\d{0,3})?)(?![\w]|\.\d)"
    r"|(?<![\w.:/])(?P<bare>\d{1,6}(?:\.\d{1,6}){2,5}(?:-[a-z]{1,6}\.?\d{0,3})?)(?![\w]|\.\d|,\d)"
)
_TOKEN = re.compile(r"[A-Za-z0-9]+(?:[-_/][A-Za-z0-9]+)*")
_QUOTE = re.compile(
    r"“[^“”\n]{3,400}”|(?<![\w\"])\"(?=\S)[^\"\n]{3,400}(?<=\S)\"(?![\w\"])|«[^«»\n]{3,400}»"
)
_SPACES = re.compile(r"\s+")


def marks(text: str) -> Iterator[tuple[int, int]]:
    """Spans to skip: citation marks such as [1], and list numbers at the start of a line."""
    for found in _MARKS.finditer(text):
        yield found.span()


def identifiers(text: str) -> Iterator[Literal]:
    """Addresses, telephone numbers, standards, labelled numbers ("Article 17") and codes."""
    for found in _ADDRESS.finditer(text):
        written = found[0].rstrip(".,;:!?")
        key = re.sub(r"^(?:https?://)?(?:www\.)?", "", written.lower()).rstrip("/")
        yield _literal(LiteralKind.IDENTIFIER, written, found.start(), key, "address")
    for found in _PHONE.finditer(text):
        key = re.sub(r"\D", "", found[0])
        if len(key) >= 7:
            yield _literal(LiteralKind.IDENTIFIER, found[0], found.start(), key, "telephone")
    for found in _STANDARD.finditer(text):
        body = found["body"].lower().replace("/iec", "").split()[-1]
        yield _literal(
            LiteralKind.IDENTIFIER,
            found[0],
            found.start(),
            f"{body} {found['number'].lower()}",
            body,
        )
    for found in _LABELLED.finditer(text):
        if found["label"] == "Day" and len(found["number"]) == 4:
            continue  # "New Year's Day 2020"
        label = found["label"].lower().removesuffix(found["plural"] or "")
        label = _LABELS.get(label, label)
        number = found["number"].lower().lstrip("#")
        roman = found["number"]
        if re.fullmatch(r"[IVX]+", roman):
            number = str(_roman(roman))
        yield _literal(LiteralKind.IDENTIFIER, found[0], found.start(), f"{label} {number}", label)
        at = found.end()
        while found["plural"] and (more := _MORE.match(text, at)):
            key = f"{label} {more['number']}"
            yield _literal(LiteralKind.IDENTIFIER, more["number"], more.start("number"), key, label)
            at = more.end()


def versions(text: str) -> Iterator[Literal]:
    """Versions such as "version 2.1", "v3.0.1" and "3.0.1". A plain decimal is a number."""
    for found in _VERSION.finditer(text):
        key = found["number"] or found["bare"]
        if found["bare"] and re.fullmatch(r"\d{1,2}\.\d{1,2}\.\d{4}", key):
            continue  # a date
        yield _literal(LiteralKind.VERSION, found[0], found.start(), key)


def codes(text: str) -> Iterator[Literal]:
    """Words of capitals and digits: INV-2024-117, ON-3, GPT-4, 5G, 10-K."""
    for found in _TOKEN.finditer(text):
        written = found[0]
        if (
            len(written) > 60
            or not any(map(str.isdigit, written))
            or not any(map(str.isupper, written))
        ):
            continue
        if written[0].isdigit():
            letters = re.sub(r"[^A-Za-z]", "", written)
            measured = named(letters) or letters in SUFFIXES or letters != letters.upper()
            other = letters in ("AM", "PM", "T", "BC", "AD", "Q") or len(letters) > 4
            before = text[found.start() - 1 : found.start()]
            if measured or other or before in ("$", "€", "£", ".", ","):
                continue
        elif re.fullmatch(r"(?:USD|EUR|GBP|CHF|US|CA|FY|CY|Q[1-4]$|[A-Z][a-z]{2,}[-/]).*", written):
            continue
        prefix = re.split(r"[\d-]", written.lower(), maxsplit=1)[0]
        yield _literal(
            LiteralKind.IDENTIFIER,
            written,
            found.start(),
            written.lower().replace("_", "-"),
            prefix,
        )


def quotations(text: str) -> Iterator[Literal]:
    """Quotations of at least two words in double quotation marks, except JSON strings."""
    for found in _QUOTE.finditer(text):
        start, end = found.span()
        json = text[end : end + 1] == ":" or text[max(0, start - 2) : start].rstrip()[-1:] in (
            ":",
            "[",
            "{",
        )
        key = normalised(found[0])
        if not json and " " in key:
            yield _literal(LiteralKind.QUOTATION, found[0], start, key)


def normalised(text: str) -> str:
    """The stripped text in lower case, with plain quotes and dashes and single spaces."""
    plain = text.translate(str.maketrans("’‘“”–—\u00a0", "''\"\"-- ")).lower()
    return _SPACES.sub(" ", plain).strip(" \"'«».,;:!?")


def _literal(kind: LiteralKind, written: str, start: int, key: str, unit: str = "") -> Literal:
    return Literal(kind, written, start, start + len(written), key=key, unit=unit)


def _roman(written: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10}[letter] for letter in written]
    following = [*values[1:], 0]
    return sum(-v if v < n else v for v, n in zip(values, following, strict=True))


_CAPITAL = r"(?:[A-ZÀ-ÖØ-Þ](?:[\w'’]{0,30}|\.)(?:-[A-Za-z][\w'’]{0,30}){0,3})"
_RUN = re.compile(
    rf"(?<![\w'’@.-]){_CAPITAL}(?:[ ](?:(?:of|de|la|van|von|der|del|da|di|bin|al|the|"
    rf"&)[ ]){{0,2}}{_CAPITAL}){{0,7}}"
)
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\S+")
_NO_NAMES = STOP_WORDS | frozenset(
    """i mr mrs ms dr prof sir yes no hello hi thanks thank please also however therefore moreover
    furthermore additionally finally first second third according although despite meanwhile based
    overall today yesterday tomorrow note see""".split()
)


def names(text: str, sentences: Sequence[tuple[int, int]]) -> Iterator[Literal]:
    """The names in a text. At the start of a sentence, a single word must also occur elsewhere."""
    runs: list[tuple[int, int, bool]] = []
    inner: set[str] = set()
    for start, end in sentences:
        first = _first_letter(text, start, end)
        shouting = text[start:end].isupper()
        for found in _RUN.finditer(text, start, end):
            opening = found.start() == first or text[found.start() - 2 : found.start()] in (
                ": ",
                ". ",
            )
            if shouting:
                continue
            runs.append((found.start(), found.end(), opening))
            if not opening:
                inner.update(_key(found[0]).split())
    for start, end, opening in runs:
        yield from _trimmed(text, start, end, opening, inner)


def _trimmed(text: str, start: int, end: int, opening: bool, inner: set[str]) -> Iterator[Literal]:
    words = [(start + m.start(), start + m.end()) for m in _WORD.finditer(text[start:end])]
    while words and _key(text[slice(*words[0])]) in _NO_NAMES:
        words.pop(0)
        opening = False
    if not words:
        return
    start, end = words[0][0], words[-1][1]
    while end > start and text[end - 1] in ".'’-":
        end -= 1
    for possessive in ("'s", "’s"):
        if text[start:end].endswith(possessive):
            end -= 2
    key = _key(text[start:end])
    lone = " " not in key and not (end - start > 1 and text[start:end].isupper())
    if len(key) < 2 or (lone and opening and key not in inner):
        return
    yield Literal(LiteralKind.NAME, text[start:end], start, end, key=key)


def _key(written: str) -> str:
    return re.sub(r"['’]s?$", "", written.lower().replace("’", "'")).rstrip(".")


def _first_letter(text: str, start: int, end: int) -> int:
    found = _LETTER.search(text, start, end)
    return found.start() if found else start
