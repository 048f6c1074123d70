"""Parses the reply of an LLM strictly into a struct, and derives the struct's JSON schema.

A struct is a dataclass of texts, integers, booleans, enums, tuples and other structs. A reply that
is anything but exactly its object raises a `ValueError`.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

R = TypeVar("R")
# Without structured output, servers return reasoning before the answer, and code fences.
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_TYPES = {bool: ("boolean", "neither true nor false"), int: ("integer", "not a number")}


def read_reply(reply: str, struct: type[R]) -> R:
    """The struct in a reply."""
    value: R = _decoded(read_json(reply), struct, "reply")
    return value


def read_json(reply: str) -> Any:
    """The JSON value of a reply."""
    text = _unfenced(_THOUGHT.sub("", reply, count=1).strip())
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError:
        raise ValueError("it is not JSON") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def schema_of(struct: type) -> dict[str, Any]:
    """The JSON schema of a struct."""
    if is_dataclass(struct):
        properties = {name: schema_of(kind) for name, kind in _fields(struct).items()}
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    if get_origin(struct) is tuple:
        return {"type": "array", "items": schema_of(get_args(struct)[0])}
    if issubclass(struct, StrEnum):
        return {"type": "string", "enum": [member.value for member in struct]}
    return {"type": _TYPES[struct][0] if struct in _TYPES else "string"}


def _unfenced(text: str) -> str:
    """The lines inside a code fence, or the text itself if it is not fenced."""
    language, _, rest = text.removeprefix("```").partition("\n")
    inner, newline, end = rest.rpartition("\n")
    fenced = text.startswith("```") and newline and end.strip() == "```"
    return inner if fenced and language.strip() in ("", "json") else text


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Reject duplicate keys: parsers differ in which value they use."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key occurs twice")
    return value


@cache
def _fields(struct: type) -> dict[str, Any]:
    """The fields of a struct, in order, with their types."""
    hints = get_type_hints(struct)
    return {field.name: hints[field.name] for field in fields(struct)}


def _decoded(value: Any, kind: Any, name: str) -> Any:
    """A JSON value as the type of the field with this name."""
    if is_dataclass(kind):
        assert isinstance(kind, type)
        expected = _fields(kind)
        if not isinstance(value, dict) or value.keys() != expected.keys():
            raise ValueError(f"an object with the keys {', '.join(expected)} is missing")
        return kind(**{key: _decoded(value[key], part, key) for key, part in expected.items()})
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"'{name}' is not a list")
        return tuple(_decoded(item, get_args(kind)[0], name) for item in value)
    if issubclass(kind, StrEnum):
        if not isinstance(value, str) or value not in set(kind):
            raise ValueError(f"'{name}' is not one of {', '.join(kind)}")
        return kind(value)
    if type(value) is not kind:  # in Python, true and false are integers too
        raise ValueError(f"'{name}' is {_TYPES[kind][1] if kind in _TYPES else 'not text'}")
    return value
