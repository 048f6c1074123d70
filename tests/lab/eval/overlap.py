"""A verifier that counts words, and labelled rows in a file."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds


@dataclass(frozen=True)
class OverlapVerifier:
    """The share of what is said that stands in the evidence, half of it if a number does not. It
    will not read "Latin"."""

    id: str = "overlap-1"
    tier: str = "fast"
    thresholds: Thresholds = field(default_factory=Thresholds)
    calls: list[list[Pair]] = field(default_factory=list)

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        self.calls.append(list(pairs))
        return [
            SupportScore(0.9, 0.0, 0.1, unchecked="Latin.")
            if "latin" in pair.text.lower()
            else SupportScore(said := supported(pair), 0.3 * (said < 1), 1 - said, passage=0)
            for pair in pairs
        ]

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        self.calls.append(list(pairs))
        return [
            SufficiencyScore(0.9, unchecked="Latin.")
            if "latin" in pair.text.lower()
            else SufficiencyScore(share(pair), passage=0)
            for pair in pairs
        ]

    @property
    def judged(self) -> list[Pair]:
        """The pairs of all calls but the first, which only warms up."""
        return [pair for call in self.calls[1:] for pair in call]


def supported(pair: Pair) -> float:
    missing = words(pair.text) - words(" ".join(pair.evidence))
    return share(pair) / 2 if any(word.isdigit() for word in missing) else share(pair)


def share(pair: Pair) -> float:
    asked = words(pair.text)
    return len(asked & words(" ".join(pair.evidence))) / len(asked) if asked else 0.0


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def write(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def silent(what: str, done: int, total: int) -> None:
    """Progress nobody looks at."""
