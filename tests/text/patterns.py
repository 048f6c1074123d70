"""Every pattern of the package: those that its modules hold, and those written in its functions."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import suffice
from suffice.errors import ExtraMissing

_FOLDER = Path(suffice.__file__).parent
_CALLS = ("compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")
_FLAGS = {name: value for name, value in vars(re).items() if isinstance(value, re.RegexFlag)}


class Used(NamedTuple):
    """A pattern, where it stands, and by which method it is used: search, match or fullmatch."""

    pattern: str
    flags: int
    where: str
    method: str


@cache
def patterns() -> tuple[Used, ...]:
    found = {one[:2]: one for one in (*_inline(), *_held())}
    return tuple(found.values())


def _modules() -> Iterator[ModuleType]:
    for module in pkgutil.walk_packages(suffice.__path__, "suffice."):
        try:
            yield importlib.import_module(module.name)
        except (ExtraMissing, ModuleNotFoundError):  # an extra that is not installed here
            continue


def _held() -> Iterator[Used]:
    methods = _methods()
    for module in _modules():
        for name, value in vars(module).items():
            for one in _inside(value):
                if isinstance(one.pattern, str):
                    where = f"{module.__name__}.{name}"
                    uses = methods[module.__file__ if name.startswith("_") else None, name]
                    yield Used(one.pattern, one.flags, where, _method(uses))


def _inside(value: Any, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    """The patterns in a value: itself, or in the items or fields that it holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4:
        items: list[Any] = []
        if isinstance(value, dict):
            items = [*value, *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            items = list(value)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            items = [getattr(value, one.name, None) for one in dataclasses.fields(value)]
        for item in items:
            yield from _inside(item, depth + 1)


@cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(_FOLDER.rglob("*.py"))}


def _methods() -> dict[tuple[str | None, str], list[str]]:
    """How each name is used in its file, and in the whole package (`None`): the attribute taken of
    it, or "" where it is passed on."""
    found: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    for path, tree in _trees().items():
        names: list[ast.Name] = []
        taken: dict[ast.expr, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                taken[node.value] = node.attr
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                names.append(node)
        for name in names:
            for file in (str(path), None):
                found[file, name.id].append(taken.get(name, ""))
    return found


def _method(uses: list[str]) -> str:
    if uses and set(uses) <= {"fullmatch"}:
        return "fullmatch"
    return "match" if uses and set(uses) <= {"match", "fullmatch"} else "search"


def _inline() -> Iterator[Used]:
    """The patterns in functions. What a function adds to a pattern counts as a letter."""
    for path, tree in _trees().items():
        bodies = [one for one in tree.body if not isinstance(one, ast.Assign | ast.AnnAssign)]
        for call in (call for body in bodies for call in ast.walk(body)):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            module = call.func.value
            if call.func.attr in _CALLS and isinstance(module, ast.Name) and module.id == "re":
                written = _text(call.args[0])
                if written is not None:
                    method = call.func.attr if "match" in call.func.attr else "search"
                    where = f"{path.relative_to(_FOLDER)}:{call.lineno}"
                    yield Used(written, _flags(call), where, method)


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "x" for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return "x"
    return None


def _flags(call: ast.Call) -> int:
    names = [node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)]
    whole = 0
    for name in names:
        whole |= int(_FLAGS.get(name, 0))
    return whole
