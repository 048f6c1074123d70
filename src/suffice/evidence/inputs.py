"""Reads passages given as texts, dicts, or `Passage` and `Retrieved` values. In an answer, the
citation `[n]` refers to the n-th passage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from math import isfinite
from typing import Any

from suffice.errors import EvidenceError, Unreadable
from suffice.evidence.read.frontmatter import declared
from suffice.evidence.read.source import storable
from suffice.text.one_line import one_line
from suffice.types import Kind, Passage, Retrieved

Given = str | Passage | Retrieved | Mapping[str, Any]
_TEXTS = ("text", "content", "page_content")
_KNOWN = ("title", "version", "effective", "expires", "kind", "access", "id")
_INDEXED = re.compile(r"#\d+-\d+\Z")
_REMEDY = (
    'Pass a text, or an object with "text" and optionally "title", "version", "effective", '
    '"expires", "document", "id", "heading", "page", "summary" and "temperature".'
)


def given(passages: Iterable[Given] | Given) -> tuple[Retrieved, ...]:
    """The passages in order, each with a unique id. A single passage need not be in a list."""
    found: list[Retrieved] = []
    taken: set[str] = set()
    for one in retrieved(passages):
        if one.passage.id in taken:  # checks identify passages by id
            name = f"{one.passage.id} ({len(found) + 1})"
            one = replace(one, passage=replace(one.passage, id=name))
        taken.add(one.passage.id)
        found.append(one)
    return tuple(found)


def retrieved(passages: Iterable[Given] | Given) -> list[Retrieved]:
    """The passages in order, with their ids unchanged."""
    if isinstance(passages, str | Passage | Retrieved | Mapping):
        passages = [passages]
    if not isinstance(passages, Iterable):
        raise EvidenceError(
            f"The passages must be a list, not {_called(passages)}.", remedy=_REMEDY
        )
    return [_retrieved(n, entry) for n, entry in enumerate(passages, 1)]


def _retrieved(n: int, entry: object) -> Retrieved:
    if isinstance(entry, Retrieved):
        return entry
    if isinstance(entry, Passage):
        return Retrieved(entry, None)
    if isinstance(entry, str):
        return Retrieved(_passage(n, entry), None)
    if isinstance(entry, Mapping):
        return Retrieved(_described(n, entry), None)
    raise EvidenceError(f"Passage {n} has an unsupported type: {_called(entry)}.", remedy=_REMEDY)


def _called(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _passage(n: int, text: str) -> Passage:
    name = f"passage-{n}"
    stored = storable(text)
    return Passage(id=name, text=stored, document=name, end=len(stored), carried=True)


def _described(n: int, entry: Mapping[str, Any]) -> Passage:
    text = next((entry[key] for key in _TEXTS if isinstance(entry.get(key), str)), None)
    if text is None:
        raise EvidenceError(f"Passage {n} has no text.", remedy=_REMEDY)
    try:
        front = declared({key: _plain(entry[key]) for key in _KNOWN if entry.get(key) is not None})
    except Unreadable as flaw:
        raise EvidenceError(f"Passage {n} {flaw.message}.", remedy=flaw.remedy) from flaw
    plain = _passage(n, text)
    page = entry.get("page")
    return replace(
        plain,
        id=carried_id(front.id) if front.id else plain.id,
        document=_document(n, entry.get("document")) or front.title or plain.document,
        title=front.title or "",
        version=front.version or "",
        kind=front.kind or Kind.FACT,
        effective=front.effective,
        expires=front.expires,
        access=front.access,
        heading=_heading(entry.get("heading")),
        page=page if isinstance(page, int) and not isinstance(page, bool) else None,
        summary=_line(entry.get("summary")),
        temperature=_number(entry.get("temperature")),
    )


def carried_id(id: str) -> str:
    """The id of a passage sent with a request, never equal to that of an indexed passage."""
    return f"{id} (carried)" if _INDEXED.search(id) else id


def _plain(value: object) -> object:
    """A scalar as text. The front matter parser rejects any other value."""
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, int | float) else value


def _document(n: int, value: object) -> str:
    if not isinstance(value, str | int | float | None):
        raise EvidenceError(f"The document of passage {n} must be a string.", remedy=_REMEDY)
    return _line(_plain(value))


def _heading(value: object) -> tuple[str, ...]:
    parts = value if isinstance(value, list | tuple) else (value,)
    return tuple(line for part in parts if (line := _line(part)))


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _line(value: object) -> str:
    return one_line(storable(value)) if isinstance(value, str) else ""
