"""Which installed packages `pip install suffice` would bring without an extra."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


def project() -> dict[str, Any]:
    """The project table of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)["project"]
    return found


@cache
def core_packages() -> frozenset[str]:
    """The requirements without an extra, and all that they require in turn."""
    waiting = [Requirement(line) for line in project()["dependencies"]]
    found: set[str] = set()
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        applies = not one.marker or any(
            one.marker.evaluate({"extra": extra}) for extra in one.extras or {""}
        )
        if name in found or not applies:
            continue
        found.add(name)
        try:
            lines = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        waiting += (need for need in map(Requirement, lines) if _plain(need))
    return frozenset(found)


def _plain(need: Requirement) -> bool:
    return not need.marker or need.marker.evaluate({"extra": ""})


def other_modules() -> frozenset[str]:
    """The installed modules that come with an extra or a tool only."""
    return frozenset(
        module
        for module, names in packages_distributions().items()
        if not core_packages() & {canonicalize_name(name) for name in names}
    ) - {"suffice"} | {"suffice_strong"}
