"""Checks values from outside (settings, requests, labelled rows) against types.

An error names the field and says in words what is allowed, so that each reader can report it in its
own terms.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union

import msgspec
from msgspec import Meta

T = TypeVar("T")

_ALLOWED = "allowed"
_FIELD = re.compile(r"`\$\.(\w+)|required field `(\w+)`")
_WORDS: Mapping[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "an object",
    Any: "anything",
}
_PLURALS = {
    "text": "texts",
    "an object": "objects",
    "a list of texts": "lists of texts",
}


def words(allowed: str, **schema: Any) -> Meta:
    """Metadata of a type: the words for its allowed values, and additions to its JSON schema."""
    return Meta(extra={_ALLOWED: allowed}, extra_json_schema=schema)


class Invalid(ValueError):
    """A field has a wrong value, or is missing. `field` is empty if the value has no fields."""

    def __init__(self, field: str, value: Any, allowed: str, *, missing: bool) -> None:
        super().__init__(field, value, allowed)
        self.field, self.value, self.allowed, self.missing = field, value, allowed, missing


def converted(value: Any, shape: type[T]) -> T:
    """The value as a `msgspec.Struct`, or raise `Invalid`. Unknown fields are ignored."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as problem:
        if isinstance(problem.__cause__, Invalid):
            raise problem.__cause__ from None
        found = _FIELD.search(str(problem))
        if not isinstance(value, Mapping) or found is None:
            raise Invalid("", value, "an object", missing=False) from None
        field = found[1] or found[2]
        missing = field not in value
        hint = hints_of(typing.cast(Any, shape))[_attribute(shape, field)]
        raise Invalid(field, value.get(field), allowed(hint), missing=missing) from None


def require_text(field: str, value: str | None) -> None:
    """Raise `Invalid` if the value of a field is blank. (A `pattern` in the type would crash some
    versions of Python at exit: https://github.com/msgspec/msgspec/issues/717.)"""
    if value is not None and not value.strip():
        raise Invalid(field, value, "a non-empty string", missing=False)


def fits(value: Any, hint: Any) -> bool:
    """Whether the value has this type and keeps its limits."""
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError:
        return False
    return True


@cache
def hints_of(shape: Any) -> Mapping[str, Any]:
    """The types of the fields, with their metadata."""
    return typing.get_type_hints(shape, include_extras=True)


def _attribute(shape: Any, field: str) -> str:
    names = {one.encode_name: one.name for one in msgspec.structs.fields(shape)}
    return names[field]


def optional(hint: Any) -> bool:
    """Whether the value may be null."""
    return _is_union(hint) and NoneType in typing.get_args(hint)


def required(hint: Any) -> Any:
    """The type of a value that is not null."""
    if not optional(hint):
        return hint
    return Union[tuple(one for one in typing.get_args(hint) if one is not NoneType)]  # noqa: UP007


def allowed(hint: Any) -> str:
    """The allowed values in words: "a whole number from 1 to 20"."""
    if optional(hint):
        return f"{allowed(required(hint))} or null"
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        metas = [one for one in inner[1:] if isinstance(one, Meta)]
        named = [one.extra[_ALLOWED] for one in metas if one.extra and _ALLOWED in one.extra]
        return str(named[-1]) if named else f"{allowed(inner[0])}{_limits(metas)}"
    if origin is Literal:
        return "one of " + ", ".join(map(str, inner))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "one of " + ", ".join(str(one.value) for one in hint)
    if _is_union(hint):
        return " or ".join(map(allowed, inner))
    if origin in (list, tuple):
        return f"a list of {_plural(allowed(inner[0]))}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "an object"
    return _WORDS.get(hint, "an object")


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (Union, UnionType)


def _limits(metas: list[Meta]) -> str:
    for meta in metas:
        if meta.ge is not None and meta.le is not None:
            return f" from {meta.ge:,.15g} to {meta.le:,.15g}"
        if meta.gt is not None and meta.le is not None:
            return f" over {meta.gt:,.15g}, at most {meta.le:,.15g}"
    return ""


def _plural(one: str) -> str:
    return _PLURALS.get(one, one)
