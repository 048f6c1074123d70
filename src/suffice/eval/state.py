"""Keeps the outcomes of an evaluation in a file, so that an interrupted run can continue."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from suffice.errors import Unreadable
from suffice.eval.outcomes import Outcome


@dataclass(frozen=True)
class State:
    """Outcomes by key. Without a path they are not kept."""

    path: Path | None = None
    known: dict[str, Outcome] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path | None, made_for: str) -> State:
        """The outcomes of an earlier run with the same data, models and settings (`made_for`)."""
        if path is None:
            return cls()
        if not path.exists():
            path.write_text(json.dumps({"made_for": made_for}) + "\n", encoding="utf-8")
            return cls(path)
        first, *rows = _rows(path)
        if first.get("made_for") != made_for:
            raise Unreadable(
                f"{path} was created with different data, models or settings.",
                remedy="Delete it, or name another file.",
            )
        return cls(path, {row.pop("key"): Outcome(**row) for row in rows})

    def once(self, key: str, decide: Callable[[], Outcome]) -> Outcome:
        """The saved outcome; otherwise decide, and save the new one."""
        if key not in self.known:
            self.known[key] = decide()
            if self.path is not None:
                row = json.dumps({"key": key, **asdict(self.known[key])})
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(row + "\n")
        return self.known[key]


def _rows(path: Path) -> list[dict[str, Any]]:
    """The complete rows of a file. If the interruption cut off the last row, it is removed, but
    only from a file that is a saved state."""
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    try:
        rows = [json.loads(line) for line in whole.splitlines()]
    except ValueError as problem:
        raise _unreadable(path) from problem
    if not rows or not all(isinstance(row, dict) for row in rows) or "made_for" not in rows[0]:
        raise _unreadable(path)
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return rows


def _unreadable(path: Path) -> Unreadable:
    return Unreadable(
        f"{path} is not a saved evaluation state.", remedy="Delete it, or name another file."
    )
