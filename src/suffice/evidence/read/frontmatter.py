"""Reads what a document declares about itself.

An invalid declaration is an error: a guess could serve an expired or restricted document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from typing import Any

import yaml

from suffice.errors import Unreadable
from suffice.evidence.read.source import FrontMatter, storable
from suffice.types import Kind

_KEYS = ("title", "version", "effective", "expires", "kind", "access", "id")

# Common synonyms for the declared version and dates.
_NAMES = {
    **dict.fromkeys(
        """expiry expiry_date expiration expiration_date expires_on expires_at expire_date
        valid_until valid_to valid_through effective_until""".split(),
        "expires",
    ),
    **dict.fromkeys(
        """effective_date effective_from effective_on valid_from in_force_since
        in_force_from""".split(),
        "effective",
    ),
    **dict.fromkeys(
        "version_number document_version doc_version policy_version revision".split(), "version"
    ),
}
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SEEMS = re.compile(
    r"expir|valid|effective|in_force|until|version|supersed|sunset|obsolete|retire|withdrawn"
)
"""Keys that look related to validity. They are reported if they are not used."""
_LONGEST = 65_536  # the closing line must come before this offset
_OPEN = re.compile(r"\s*---[ \t]*\n")
_CLOSE = re.compile(r"^(?:-{3,}|\.{3})[ \t]*(?:\n|\Z)", re.MULTILINE)
_DECLARES = re.compile(rf"(?:{'|'.join((*_KEYS, *_NAMES))})[ \t]*:", re.IGNORECASE)
_NOTHING = frozenset({"", "~", "null"})
_ALIASES = {
    "q&a": Kind.QA,
    "faq": Kind.QA,
    "policy": Kind.FACT,
    "reference": Kind.FACT,
    "howto": Kind.PROCEDURE,
    "how-to": Kind.PROCEDURE,
    "minutes": Kind.DISCUSSION,
    "proposal": Kind.DISCUSSION,
}
KIND_NAMES = frozenset((*Kind, *_ALIASES))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE | re.ASCII)
    for pattern in (
        r"(?P<year>\d{4})(?P<by>[-/])(?P<number>\d{1,2})(?P=by)(?P<day>\d{1,2})(?:[T ]\d\d:.*)?",
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)? {_MONTH},? (?P<year>\d{{4}})",
        rf"{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})",
    )
)


def split(text: str) -> tuple[FrontMatter, int]:
    """The front matter at the top of a text, and the offset where the body begins."""
    opened = _OPEN.match(text)
    closed = _CLOSE.search(text, opened.end(), _LONGEST) if opened else None
    if opened and not closed and _DECLARES.match(text, opened.end()):
        raise Unreadable(
            "has front matter without a closing line",
            remedy="End it with a line of three dashes (---).",
        )
    if opened is None or closed is None:
        return FrontMatter(), 0
    return declared(_mapping(text[opened.end() : closed.start()])), closed.end()


def declared(values: Mapping[str, object]) -> FrontMatter:
    """Front matter from keys and plain values. Unknown keys are ignored, but keys that look related
    to validity are reported."""
    known = _by_meaning(values)
    _check_spelling(known)
    texts = {key: _plain(key, known.get(key)) for key in _KEYS if key != "access"}
    effective = _date("effective", texts["effective"])
    expires = _date("expires", texts["expires"])
    _check_order(effective, expires)
    return FrontMatter(
        title=texts["title"],
        version=texts["version"],
        effective=effective,
        expires=expires,
        kind=_kind(texts["kind"]),
        access=_access(known.get("access")),
        id=texts["id"],
        unread=tuple(key for key in known if key not in _KEYS and _SEEMS.search(key)),
    )


def merged(front: FrontMatter, given: FrontMatter) -> FrontMatter:
    """The fields of a document merged with those of the request. Two different values for a key are
    an error: a guess could serve an expired or restricted document."""
    changes: dict[str, Any] = {}
    for key in _KEYS:
        inside, beside = getattr(front, key), getattr(given, key)
        if inside and beside and inside != beside:
            raise Unreadable(
                f"declares an '{key}' that differs from the request",
                remedy=f"Send '{key}' in one place only.",
            )
        changes[key] = inside or beside
    found = replace(front, **changes, unread=(*front.unread, *given.unread))
    _check_order(found.effective, found.expires)
    return found


def _check_order(effective: date | None, expires: date | None) -> None:
    if effective and expires and expires < effective:
        raise Unreadable(
            f"expires on {expires}, before it takes effect on {effective}",
            remedy="Correct effective or expires.",
        )


def _by_meaning(values: Mapping[str, object]) -> dict[str, object]:
    """Normalise the keys: `expiryDate` and `valid-until` become `expires`."""
    known: dict[str, object] = {}
    for written, value in values.items():
        key = _CAMEL.sub("_", written.strip()).lower().replace("-", "_").replace(" ", "_")
        meant = _NAMES.get(key, key)
        if known.setdefault(meant, value) != value:
            raise Unreadable(
                f"declares '{meant}' twice with different values", remedy=f"Write '{meant}' once."
            )
    return known


def _check_spelling(keys: Iterable[str]) -> None:
    """Reject misspelt keys, which could make a document public or valid forever."""
    for key in keys:
        meant = get_close_matches(key, ("access", "effective", "expires"), 1, cutoff=0.8)
        if meant and key not in meant:
            raise Unreadable(
                f"declares the unknown key '{key[:60]}'", remedy=f"Write '{meant[0]}'."
            )


def _mapping(block: str) -> Mapping[str, object]:
    """Parse front matter as YAML, with all scalars as text: version 2.10 must not become 2.1."""
    try:
        values = yaml.load(block, Loader=yaml.BaseLoader)  # only creates text, lists and mappings
    except yaml.YAMLError as error:
        reason = getattr(error, "problem", None) or "it cannot be parsed"
        raise Unreadable(
            f"has front matter that is not valid YAML ({reason})",
            remedy="Correct the lines between the two '---' lines.",
        ) from error
    if not block.strip() or values is None:
        return {}
    if not isinstance(values, dict):
        raise Unreadable(
            "has front matter that is not a mapping of keys to values",
            remedy="Write it as 'key: value' lines, or remove the '---' line at the top.",
        )
    return values


def _plain(key: str, value: object) -> str | None:
    """A scalar as one line of text; `None` if it is empty."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise Unreadable(
            f"declares {key} as something other than plain text", remedy=f"Write '{key}: …'."
        )
    text = " ".join(storable(value).split())
    return None if text.lower() in _NOTHING else text


def _date(key: str, value: str | None) -> date | None:
    if value is None:
        return None
    found = next(filter(None, (form.fullmatch(value) for form in _DATES)), None)
    try:
        if found is None:
            raise ValueError(value)
        parts = found.groupdict()
        month = parts.get("number") or _MONTHS.index(parts["month"][:3].lower()) + 1
        return date(int(parts["year"]), int(month), int(parts["day"]))
    except ValueError as error:
        raise Unreadable(
            f"has an invalid date: {key} is '{value[:60]}'", remedy="Write it as YYYY-MM-DD."
        ) from error


def _kind(value: str | None) -> Kind | None:
    if value is None:
        return None
    name = value.lower()
    if name in _ALIASES:
        return _ALIASES[name]
    if name not in frozenset(Kind):
        allowed = ", ".join((*Kind, *_ALIASES))
        raise Unreadable(f"has an unknown kind: '{value[:60]}'", remedy=f"Use one of {allowed}.")
    return Kind(name)


def _access(value: object) -> frozenset[str]:
    """Labels from a list or from comma-separated text."""
    labels: Iterable[object] = value if isinstance(value, list) else [value]
    plain = (_plain("access", label) or "" for label in labels)
    return frozenset(part.strip() for text in plain for part in text.split(",") if part.strip())
