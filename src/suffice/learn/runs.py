"""Records of golden set and red team runs. They contain only figures, no text of a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from suffice.learn.golden.run import Comparison, Run
from suffice.log.entry import Choice, Entry
from suffice.log.record import Record
from suffice.record.log import Log

GOLDEN, REDTEAM = "golden_run", "redteam_run"
"""The kinds of the records."""


def of_golden(found: Run, compared: Comparison, name: str, by: str = "") -> Record:
    """The record of a run of the golden set with this file name."""
    fields = {
        "set": name,
        "cases": len(found.cases),
        "passed": found.passed,
        "regressions": len(compared.regressions),
        "fixed": len(compared.fixed),
        "run": dict(found.run),
    }
    return Record(GOLDEN, fields, caller=by)


def of_redteam(found: Mapping[str, Any], by: str = "") -> Record:
    """The record of a report of the red team."""
    names = ("total", "documents", "setup", "seed", "most", "run")
    fields = {name: found[name] for name in names}
    return Record(REDTEAM, {**fields, "attacks": found["attacks"]}, caller=by)


@dataclass(frozen=True, slots=True)
class GoldenRun:
    """A recorded run of a golden set."""

    id: str
    time: str
    by: str
    set: str
    cases: int
    passed: int
    regressions: int
    fixed: int

    @property
    def share(self) -> float | None:
        return self.passed / self.cases if self.cases else None


@dataclass(frozen=True, slots=True)
class RedteamRun:
    """A recorded run of the red team. `right` counts attacks that ended in the right action,
    `served` harmless twins that were served; `attacks` has the same figures for each attack."""

    id: str
    time: str
    by: str
    cases: int
    right: int
    served: int
    attacks: Mapping[str, Mapping[str, Any]]

    @property
    def right_share(self) -> float | None:
        return self.right / self.cases if self.cases else None

    @property
    def served_share(self) -> float | None:
        return self.served / self.cases if self.cases else None


def golden_runs(log: Log, most: int = 50) -> list[GoldenRun]:
    """The newest runs of golden sets, newest first."""
    return [
        GoldenRun(
            entry.id,
            entry.time,
            entry.caller,
            str(fields.get("set", "")),
            int(fields.get("cases", 0)),
            int(fields.get("passed", 0)),
            int(fields.get("regressions", 0)),
            int(fields.get("fixed", 0)),
        )
        for entry, fields in _read(log, GOLDEN, most)
    ]


def redteam_runs(log: Log, most: int = 50) -> list[RedteamRun]:
    """The newest runs of the red team, newest first."""
    return [
        RedteamRun(
            entry.id,
            entry.time,
            entry.caller,
            int(fields["total"].get("cases", 0)),
            int(fields["total"].get("right", 0)),
            int(fields["total"].get("twins_served", 0)),
            fields.get("attacks", {}),
        )
        for entry, fields in _read(log, REDTEAM, most)
        if "total" in fields
    ]


def _read(log: Log, kind: str, most: int) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Records of a kind whose content was not erased."""
    for entry in log.page(Choice(kind=kind), most):
        if fields := entry.fields():
            yield entry, fields
