"""Reads groups of settings from a YAML file or the environment."""

from __future__ import annotations

import difflib
import re
import typing
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from suffice.errors import SettingsError
from suffice.settings.checked import READ_ONLY, AtMost, Count, Share, bad_value, orders
from suffice.validation import allowed, hints_of, optional, required

ENV_PREFIX = "SUFFICE_"

# These variables share the prefix but are not settings.
_NO_SETTINGS = frozenset({f"{ENV_PREFIX}CONFIG", f"{ENV_PREFIX}DEBUG"})

T = TypeVar("T")


def load_yaml(file: Path) -> dict[str, Any]:
    import yaml

    try:
        tree = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(
            f"{file}: no such settings file.", remedy="Check --config or SUFFICE_CONFIG."
        ) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise SettingsError(
            f"{file}: cannot be read as YAML: {problem}.",
            remedy="Correct the YAML syntax of the file.",
        ) from problem
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise bad_value(str(file), "(top level)", tree, "a mapping of keys to values")
    return tree


def environment_tree(environ: Mapping[str, str]) -> dict[str, Any]:
    """`SUFFICE_A__B=x` becomes `{"a": {"b": x}}`; values are parsed as YAML."""
    import yaml

    tree: dict[str, Any] = {}
    for name, value in environ.items():
        if not name.startswith(ENV_PREFIX) or name in _NO_SETTINGS:
            continue
        *parents, last = name.removeprefix(ENV_PREFIX).lower().split("__")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
            if not isinstance(node, dict):
                raise bad_value("environment", parent, node, "a mapping of keys to values")
        try:
            node[last] = yaml.safe_load(value)
        except yaml.YAMLError:
            node[last] = value
    return tree


def build(shape: type[T], raw: Any, origin: str, where: str, base: T | None = None) -> T:
    """Build a `shape` from a raw mapping; omitted keys keep the value in `base` or the default."""
    if not isinstance(raw, dict):
        raise bad_value(origin, where or "(top level)", raw, "a mapping of keys to values")
    kind: Any = shape
    hints = hints_of(kind)
    for key in raw:
        if key not in hints:
            raise _unknown(str(key), hints, origin, where)
    _refuse_read_only(kind, raw, origin, where)
    start = base if base is not None else shape()
    changes = {
        key: _value(hints[key], value, origin, _join(where, str(key)), getattr(start, key))
        for key, value in raw.items()
    }
    for key, other in orders(hints):
        low, high = (changes.get(name, getattr(start, name)) for name in (key, other))
        if low > high and key in changes:
            raise bad_value(origin, _join(where, key), low, f"at most '{other}', which is {high:g}")
        if low > high:
            raise bad_value(
                origin, _join(where, other), high, f"at least '{key}', which is {low:g}"
            )
    try:
        changed: T = replace(start, **changes)  # type: ignore[type-var]
    except SettingsError as problem:  # raised by the group, which does not know the file
        own = f"{kind.__name__}: '"
        place = _join(where, problem.message.removeprefix(own))
        raise SettingsError(f"{origin}: '{place}", remedy=problem.remedy) from None
    return changed


def _unknown(key: str, known: Collection[str], origin: str, where: str) -> SettingsError:
    nearest = difflib.get_close_matches(key, known, n=1)
    meant = f"Did you mean '{nearest[0]}'? " if nearest else ""
    levels = " Separate levels with two underscores." if origin == "environment" else ""
    return SettingsError(
        f"{origin}: unknown key '{_join(where, key)}'.",
        remedy=f"{meant}Allowed here: {', '.join(sorted(known))}.{levels}",
    )


def _refuse_read_only(kind: Any, raw: Mapping[str, Any], origin: str, where: str) -> None:
    """Refuse a value for a setting that only the program sets; an empty value is ignored."""
    for item in fields(kind):
        if item.metadata.get(READ_ONLY) and raw.get(item.name):
            raise SettingsError(
                f"{origin}: '{_join(where, item.name)}' cannot be set.",
                remedy="Remove the key; it is set while the settings are applied.",
            )


def _value(hint: Any, raw: Any, origin: str, where: str, base: Any) -> Any:
    """Convert a raw value to its type, or raise a SettingsError that lists the allowed values."""
    if raw is None and optional(hint):
        return None
    hint = required(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        return build(hint, raw, origin, where, base=base)
    if typing.get_origin(hint) is Mapping:
        return _mapping(typing.get_args(hint)[1], raw, origin, where)
    try:
        return msgspec.convert(_as_meant(hint, raw), hint)
    except msgspec.ValidationError:
        raise bad_value(origin, where, raw, allowed(hint)) from None


def _as_meant(hint: Any, raw: Any) -> Any:
    """YAML reads `2.10` as a number where a text is meant, and `7.0` is a whole number."""
    if hint is str and isinstance(raw, int | float) and not isinstance(raw, bool):
        return str(raw)
    kind = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    return int(raw) if kind is int and isinstance(raw, float) and raw.is_integer() else raw


def _mapping(shape: Any, raw: Any, origin: str, where: str) -> dict[str, Any]:
    """A mapping of names to groups, names or lists of names. A single name becomes a list."""
    lists = shape == tuple[str, ...]
    if not isinstance(raw, dict):
        values = "lists of names" if lists else "names" if shape is str else "settings"
        raise bad_value(origin, where, raw, f"a mapping of names to {values}")
    return {
        str(name): _value(
            shape,
            [entry] if lists and isinstance(entry, str) else entry,
            origin,
            _join(where, str(name)),
            None,
        )
        for name, entry in raw.items()
    }


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


KEY = "sufficient_context"


@dataclass(frozen=True, slots=True)
class _Thresholds:
    """`insufficient` is accepted but has no effect: every score below `partial` is insufficient."""

    sufficient: Share = 0.8
    partial: Annotated[Share, AtMost("sufficient")] = 0.5
    insufficient: Annotated[Share, AtMost("partial")] = 0.0


@dataclass(frozen=True, slots=True)
class _Block:
    enabled: bool = True
    min_contexts: Count = 2
    thresholds: _Thresholds = field(default_factory=_Thresholds)
    require_embeddings: bool = False
    decline_insufficient: bool = False


def as_written(tree: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """Translate the block into `gate` settings. Keys set in `gate` take precedence."""
    rest = {key: value for key, value in tree.items() if key != KEY}
    if KEY not in tree:
        return rest
    block = build(_Block, tree[KEY], origin, KEY)
    gate = rest.get("gate", {})
    if not isinstance(gate, dict) or not isinstance(gate.get("coverage", {}), dict):
        raise bad_value(origin, "gate", gate, "a mapping of keys to values")
    if not block.enabled:
        return {**rest, "gate": {"policy": "none", **gate}}
    translated = {
        "exact": True,
        "min_contexts": block.min_contexts,
        "sufficient": block.thresholds.sufficient,
        "partial": block.thresholds.partial,
        "require_embeddings": block.require_embeddings,
        "decline_insufficient": block.decline_insufficient,
    }
    coverage = {**translated, **gate.get("coverage", {})}
    return {**rest, "gate": {"policy": "coverage", **gate, "coverage": coverage}}


_USER = re.compile(r"(?<=://)[^/?#@]*@")
_QUERY = re.compile(r"(?<=\?)[^#\s]+")
_MASK = "…"


def masked(value: Any) -> Any:
    """Return settings as a tree. API keys live in environment variables, so only variable names
    appear; credentials, query strings and webhook paths in URLs are masked."""
    if is_dataclass(value):
        tree = {field.name: masked(getattr(value, field.name)) for field in fields(value)}
        if tree.get("gap_webhook"):
            tree["gap_webhook"] = "/".join(str(tree["gap_webhook"]).split("/")[:3]) + f"/{_MASK}"
        if "secret_env" in tree and tree.get("url"):
            tree["url"] = "/".join(str(tree["url"]).split("/")[:3]) + f"/{_MASK}"
        if tree.get("own", "") is None:
            del tree["own"]
        return tree
    if isinstance(value, Mapping):
        return {key: masked(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return [masked(entry) for entry in value]
    return _QUERY.sub(_MASK, _USER.sub(f"{_MASK}@", value)) if isinstance(value, str) else value
