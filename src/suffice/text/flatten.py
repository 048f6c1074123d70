"""Structured evidence as lines that keep keys with values: models read sentences, not braces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_CAMEL = re.compile(r"(?<=[a-z]{3})(?=[A-Z][a-z]{2})|_")
_HOURS = re.compile(r"^(\d{1,2}):(\d{1,2})-(\d{1,2}):(\d{1,2})$")
_SAID = {True: "yes", False: "no", None: "not stated"}


def flatten(text: str) -> str:
    """JSON as `key, key: value` lines; any other text as it is."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return text
    try:
        return "\n".join(_lines(json.loads(stripped, parse_float=str, parse_int=str), ())) or text
    except (ValueError, RecursionError):
        return text


def _lines(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, dict):
        plain = {key: item for key, item in value.items() if not isinstance(item, dict | list)}
        if path and len(plain) == len(value) > 1 and not any(map(_long, plain.values())):
            facts = ", ".join(f"{_words(key)} {_said(item)}" for key, item in plain.items())
            yield f"{_name(path)}: {facts}."
            return
        for key, item in value.items():
            yield from _lines(item, (*path, _words(key)))
    elif isinstance(value, list):
        if value and not any(isinstance(item, dict | list) for item in value):
            yield f"{_name(path)}: {', '.join(map(_said, value))}."
            return
        for number, item in enumerate(value, 1):
            yield from _lines(item, (*path, str(number)))
    else:
        said = _said(value)
        yield f"{_name(path)}: {said}" + ("" if said.endswith((".", "!", "?")) else ".")


def _name(path: tuple[str, ...]) -> str:
    return ", ".join(path) or "value"


def _words(key: object) -> str:
    return " ".join(_CAMEL.sub(" ", str(key)).split())


def _long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > 80


def _said(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return _SAID[value]
    hours = _HOURS.match(value) if isinstance(value, str) else None
    first, second, third, fourth = map(int, hours.groups()) if hours else (99, 0, 99, 0)
    if max(first, third) <= 24 and max(second, fourth) < 60 and third > 2:
        return f"{first}:{second:02} to {third}:{fourth:02}"
    return " ".join(str(value).split())
