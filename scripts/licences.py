"""Writes docs/reference/licences.md: the licence of everything that Suffice installs or brings.

    python scripts/licences.py

Reads the metadata of the installed packages, for the packages that the container's lock file names.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # runs from any folder

from scripts.lock import ROOT, locked

PAGE = ROOT / "docs" / "reference" / "licences.md"
HEAD = """\
# Third-party licences

Suffice is published under Apache-2.0. `python scripts/licences.py` writes this page.

## Inside the wheels

| what | licence | from |
|---|---|---|
"""
PACKAGES = """
The scripts and styles of the review site are Suffice's own; it loads nothing from elsewhere.

## Packages

What `suffice[all]` and the container install. Their versions are in `deploy/requirements.lock`.

| package | licence |
|---|---|
"""
_LONGEST = 60


def licence_of(package: str) -> str:
    """The licence that a package states: an SPDX expression, a name, or its classifiers."""
    found = metadata(package).json
    stated = [str(found.get("license_expression") or found.get("license") or "")]
    if not stated[0] or len(stated[0]) > _LONGEST or "\n" in stated[0]:
        listed = found.get("classifier") or []
        stated = [one.rpartition(" :: ")[2] for one in listed if one.startswith("License ::")]
    if not stated:
        raise SystemExit(f"{package} states no licence.")
    return ", ".join(stated)


def brought() -> list[tuple[str, str, str]]:
    """The weights and data inside the wheels of this repository."""
    rows = []
    for path in sorted(ROOT.glob("**/src/**/weights/*/card.json")):
        card = json.loads(path.read_text(encoding="utf-8"))
        base = card["base"]
        own = f"{base['name']} ({base.get('licence', card['licence'])})"
        rows.append((f"weights of `{card['name']}`", card["licence"], own))
    return [*rows, ("names of currencies", "Unicode-3.0", "Unicode CLDR")]


def page() -> str:
    try:
        packages = [(name, licence_of(name)) for name in sorted(locked())]
    except PackageNotFoundError as problem:
        raise SystemExit(f"{problem.name} is not installed. Run: ./scripts/test fast") from None
    inside = "".join(f"| {' | '.join(row)} |\n" for row in brought())
    return HEAD + inside + PACKAGES + "".join(f"| {' | '.join(row)} |\n" for row in packages)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
