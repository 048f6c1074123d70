"""The results as figures, and tables of Markdown."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = DOCS / "results"
TIERS = ("fast", "strong")
Figures = Mapping[str, Any]


def result(name: str) -> dict[str, Any]:
    """What a bench left in results/; empty where it has not run."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def cores(results: Figures) -> str:
    machine = results["run"]["machine"]
    return f"{machine['cores']} cores ({machine['architecture']})"


def head(*titles: str) -> Iterator[str]:
    yield line(*titles)
    yield "|" + "---|" * len(titles)


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def outcome_shares(outcomes: Figures, prefix: str) -> Mapping[str, float]:
    own = {k.removeprefix(prefix): n for k, n in outcomes.items() if k.startswith(prefix)}
    return defaultdict(float, {name: n / sum(own.values()) for name, n in own.items()})
