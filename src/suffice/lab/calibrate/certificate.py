"""The certificate: thresholds, what they guarantee, and the data and setup they were made for.

The setting `verdict.thresholds_file` names its JSON file, which has the same field names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from suffice.errors import SourceMissing, Unreadable
from suffice.lab.calibrate.select import Run, of_series
from suffice.log.decision import plain, value_of
from suffice.types import Action
from suffice.verdict.thresholds import Thresholds, certificate_id

VERSION = 1
_REMEDY = "Use a file written by suffice calibrate."


@dataclass(frozen=True, slots=True)
class Certificate:
    """With probability at least 1 − `delta`, at most a share `alpha` of the answers served with
    these thresholds are wrong, for questions like the labelled ones. `thresholds` is `None` if
    nothing could be certified."""

    alpha: float
    delta: float
    thresholds: Mapping[str, float | None] | None
    """`gate` (`None`: as configured) and `confidence`."""
    served: tuple[str, ...] = (Action.SERVE.value,)
    level: float = 0.0
    """The part of `delta` that this calibration spent; see `history`."""
    method: Mapping[str, Any] = field(default_factory=dict)
    created: str = ""
    n: int = 0
    data: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    policy: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    drafts: str = ""
    """`written`: scored from LLM-style texts; `recorded`: from scores supplied with the rows."""
    coverage: Mapping[str, Any] = field(default_factory=dict)
    served_error: Mapping[str, Any] = field(default_factory=dict)
    false_withhold: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Figures by group, sensitivity, reliability, error rates of the gate, kinds of errors, and the
    rates of the published thresholds."""
    needed: tuple[Mapping[str, Any], ...] = ()
    """If nothing was certified: how many more labels would be needed for which coverage."""
    history: tuple[Run, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """Digests of the rows of each series of calibrations, which share δ."""
    reference: tuple[float, ...] = ()
    """The confidences of the calibration rows that pass the certified gate and have one."""
    version: int = VERSION

    @property
    def id(self) -> str:
        """A digest of everything except the history."""
        return certificate_id(self.tree())

    @property
    def promise(self) -> str:
        share, sure = f"{self.alpha:.3g}", f"{1 - self.delta:.3g}"
        return f"At most {share} of the served answers are wrong, with confidence {sure}."

    @property
    def certified(self) -> bool:
        return self.thresholds is not None

    @property
    def applied(self) -> Thresholds | None:
        """The thresholds as the gate and the verdict use them."""
        if self.thresholds is None:
            return None
        gate, own = self.thresholds["gate"], self.thresholds["confidence"]
        return Thresholds(gate, float(own or 0), tuple(map(Action, self.served)))

    def tree(self) -> dict[str, Any]:
        return {one.name: plain(getattr(self, one.name), whole=True) for one in fields(self)}

    def write(self, path: Path) -> None:
        """Replace the file atomically, so that no reader sees a partial file."""
        text = json.dumps({"id": self.id, **self.tree()}, indent=1, ensure_ascii=False)
        beside = path.with_name(f"{path.name}.part")
        try:
            beside.write_text(f"{text}\n", encoding="utf-8")
            os.replace(beside, path)
        except OSError as problem:
            raise Unreadable(
                f"Cannot write {path}: {problem.strerror}.", remedy="Choose another file."
            ) from problem

    @classmethod
    def read(cls, path: Path) -> Certificate:
        """Read a certificate. A file that was edited by hand is refused."""
        if not path.is_file():
            raise SourceMissing(f"There is no file {path}.", remedy="Run: suffice calibrate LABELS")
        try:
            tree = json.loads(path.read_text(encoding="utf-8"))
            named = tree.pop("id")
            if any(isinstance(one, str) for one in tree.get("rows", ())):
                tree["rows"] = [tree["rows"]]  # the format before series were separated
            found = value_of(cls, tree)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as problem:
            raise Unreadable(f"{path} is not a certificate.", remedy=_REMEDY) from problem
        if found.id != named:
            raise Unreadable(
                f"{path} was changed after it was written: its id does not match its content.",
                remedy=_REMEDY,
            )
        return found

    def after(self, earlier: Certificate | None, run: Run, rows: tuple[str, ...]) -> Certificate:
        """This certificate with its own run added to the history of the earlier one."""
        past = earlier.history if earlier else ()
        past = tuple(one for one in past if not one.repeats(run))
        used = list(earlier.rows) if earlier else []
        for number in run.series:
            before = used[number] if number < len(used) else ()
            used[number : number + 1] = [tuple(dict.fromkeys((*before, *rows)))]
        return replace(self, history=(*past, run), rows=tuple(used))

    @property
    def left(self) -> float:
        """The part of δ that is left for later calibrations on these rows."""
        series = self.history[-1].series if self.history else ()
        spent = [sum(run.level for run in of_series(self.history, n)) for n in series]
        return max(self.delta - max(spent, default=0.0), 0.0)

    def or_else(self, earlier: Certificate | None) -> Certificate:
        """The certificate to write: if this one certifies nothing, the earlier thresholds stay in
        force, with the history of both."""
        if self.certified or earlier is None or not earlier.certified:
            return self
        return replace(earlier, history=self.history, rows=self.rows)
