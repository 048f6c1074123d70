"""Converts the library's values to JSON trees and back.

A dataclass becomes an object with the fields that differ from their defaults. If a type has a
table, its values are stored once in the table and referenced by index.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar, Union

T = TypeVar("T")
_NONE = object()
_ATOMS = frozenset((str, int, float, bool, type(None)))


class ValueTable:
    """Distinct values of one type, in order of first use."""

    def __init__(self, entries: Sequence[Any] = ()) -> None:
        self.entries = list(entries)
        self._places = {entry: place for place, entry in enumerate(self.entries)}

    def place(self, entry: Any) -> int:
        found = self._places.setdefault(entry, len(self.entries))
        if found == len(self.entries):
            self.entries.append(entry)
        return found


ValueTables = Mapping[type, ValueTable]
_NO_TABLES: ValueTables = {}


def plain(value: object, tables: ValueTables = _NO_TABLES, *, whole: bool = False) -> Any:
    """The tree of a value. `whole` includes fields with default values, because defaults can change
    between versions."""
    kind: Any = type(value)
    if kind in _ATOMS:
        return value
    if kind in tables:
        return tables[kind].place(value)
    return _maker(kind)(value, tables, whole)


def laid_out(value: object, tables: ValueTables = _NO_TABLES, *, whole: bool = False) -> Any:
    """The tree of a dataclass instead of its index, even if its type has a table."""
    kind: Any = type(value)
    return _maker(kind)(value, tables, whole)


Maker = Callable[[Any, ValueTables, bool], Any]


@lru_cache(maxsize=512)
def _maker(kind: Any) -> Maker:
    """The function that converts values of one type to trees."""
    if is_dataclass(kind):
        return _maker_of(kind)
    if issubclass(kind, tuple | list):
        return lambda value, tables, whole: [
            item if type(item) in _ATOMS else plain(item, tables, whole=whole) for item in value
        ]
    if issubclass(kind, Enum):
        return lambda value, tables, whole: value._value_
    if issubclass(kind, date):
        return lambda value, tables, whole: value.isoformat()
    if issubclass(kind, frozenset):
        return lambda value, tables, whole: sorted(value)
    if issubclass(kind, Mapping):
        return lambda value, tables, whole: {
            key: plain(entry, tables, whole=whole) for key, entry in value.items()
        }
    return lambda value, tables, whole: value


def _maker_of(shape: Any) -> Maker:
    names = tuple(field.name for field in fields(shape))
    defaults = tuple(_default(field) for field in fields(shape))
    read: Callable[[Any], Any] = attrgetter(*names)
    read = read if len(names) > 1 else lambda value: (getattr(value, names[0]),)

    def made(value: Any, tables: ValueTables, whole: bool) -> dict[str, Any]:
        return {
            name: entry if type(entry) in _ATOMS else plain(entry, tables, whole=whole)
            for name, default, entry in zip(names, defaults, read(value), strict=True)
            if whole or (entry is not default and entry != default)
        }

    return made


def _default(field: Any) -> object:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else _NONE


def value_of(shape: type[T], raw: Any, tables: ValueTables = _NO_TABLES) -> T:
    """Convert a tree back to a value."""
    if shape in tables:
        shelved: T = tables[shape].entries[raw]
        return shelved
    hint: Any = shape
    read: T = _reader(hint)(raw, tables)
    return read


def rebuilt(shape: type[T], raw: Any, tables: ValueTables = _NO_TABLES, **given: Any) -> T:
    """Convert a tree to a dataclass, even if its type has a table. `given` holds fields passed as
    values."""
    hint: Any = shape
    made: T = _of_class(hint)(raw, tables, **given)
    return made


Reader = Callable[..., Any]


@lru_cache(maxsize=512)
def _reader(hint: Any) -> Reader:
    """The function that converts trees to values of one type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        (shape,) = [option for option in inner if option is not type(None)]
        return lambda raw, tables: None if raw is None else value_of(shape, raw, tables)
    if origin is tuple and inner[-1] is Ellipsis:
        return lambda raw, tables: tuple(value_of(inner[0], item, tables) for item in raw)
    if origin is tuple:
        return lambda raw, tables: tuple(
            value_of(shape, item, tables) for shape, item in zip(inner, raw, strict=True)
        )
    if origin is frozenset:
        return lambda raw, tables: frozenset(raw)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return lambda raw, tables: {k: value_of(inner[1], v, tables) for k, v in raw.items()}
    if isinstance(hint, type):
        return _of_class(hint)
    return lambda raw, tables: raw


@lru_cache(maxsize=256)
def _of_class(shape: Any) -> Reader:
    if is_dataclass(shape):
        hints, make = typing.get_type_hints(shape), typing.cast(Callable[..., Any], shape)
        return lambda raw, tables, **given: make(
            **{name: value_of(hints[name], entry, tables) for name, entry in raw.items()}, **given
        )
    if issubclass(shape, Enum):
        return lambda raw, tables: shape(raw)
    if shape is date:
        return lambda raw, tables: date.fromisoformat(raw)
    if shape is float:
        return lambda raw, tables: float(raw)
    return lambda raw, tables: raw
