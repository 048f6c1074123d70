"""Applies the certified thresholds of a file that `suffice calibrate` wrote.

The certificate holds only for the decision rule that it was computed for. So the thresholds are
refused if the models, the policy of the gate, the checks or the routing table differ.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from suffice.errors import SettingsError, StaleThresholds
from suffice.settings import CollectionSettings, GateSettings, VerdictSettings
from suffice.types import Action

SERVE_ONLY = (Action.SERVE,)
WITH_CAVEAT = (Action.SERVE, Action.CAVEAT)
WRITTEN = "written"
"""The certificate was computed from LLM-style texts, not from recorded decisions."""
_AGAIN = "Run: suffice calibrate LABELS --out {}"
_UNSIGNED = ("id", "history", "rows")
_FLOOR = re.compile(r"confidence\s*(?:>=|>)\s*(\d*\.?\d+)")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """An answer is `served` if the gate's score and the verdict's confidence both reach their
    thresholds. `gate` is `None` if the gate decides as configured."""

    gate: float | None
    confidence: float
    served: tuple[Action, ...] = SERVE_ONLY

    def apply(self, settings: CollectionSettings) -> CollectionSettings:
        """The settings with these thresholds in the gate and in the routing table."""
        routes = tuple(_row(row, self) for row in settings.verdict.routes)
        # A serving `else` row now has a condition, but the table must have a row for every case.
        rest = () if not routes or _always(routes[-1]) else (f"else -> {Action.WITHHOLD.value}",)
        verdict = replace(settings.verdict, routes=(*routes, *rest))
        return replace(settings, gate=self._gate(settings), verdict=verdict)

    def stricter(self, other: Thresholds) -> Thresholds:
        """The higher of each pair of thresholds."""
        if self.gate is None or other.gate is None:
            gate = self.gate if other.gate is None else other.gate
        else:
            gate = max(self.gate, other.gate)
        return replace(self, gate=gate, confidence=max(self.confidence, other.confidence))

    def _gate(self, settings: CollectionSettings) -> GateSettings:
        """The gate's settings. Questions are not split, because only the joint score was
        certified."""
        gate, old = settings.gate, settings.gate.learned
        if self.gate is None:
            return gate
        if Action.CAVEAT in self.served:
            learned = replace(
                old, threshold=self.gate, sufficient=max(old.sufficient, self.gate), review_band=0.0
            )
        else:
            opens = min(settings.opens, self.gate)
            band = min(old.review_band, 2 * (self.gate - opens))
            learned = replace(old, threshold=opens, sufficient=self.gate, review_band=band)
        return replace(gate, learned=learned, split_questions=False)


def in_force(settings: CollectionSettings, served: Sequence[Action] = SERVE_ONLY) -> Thresholds:
    """The thresholds in the settings, for answers with these actions."""
    floors = [_floor(row) for row in settings.verdict.routes if _action(row) in served]
    learned = settings.gate.learned
    gate = learned.sufficient
    if Action.CAVEAT in served:
        gate = settings.opens + learned.review_band / 2
    known = settings.gate.policy == "learned"
    return Thresholds(gate if known else None, min(floors, default=0.0), tuple(served))


def certified(settings: CollectionSettings, models: Mapping[str, str]) -> CollectionSettings:
    """The settings with the thresholds of their `verdict.thresholds_file`, if they name one.

    `models` are the ids of embedder and verifier. Raises `StaleThresholds` if the thresholds were
    made for other models or settings.
    """
    path = settings.verdict.thresholds_file
    if not path or settings.verdict.certificate:
        return settings
    tree = _read(path)
    for what, was, now in _differences(tree, settings, models):
        raise StaleThresholds(
            f"{path}: the thresholds were made for {what} '{was}', but '{now}' is in use.",
            remedy=_AGAIN.format(path),
        )
    found = _thresholds(tree, path).apply(settings)
    return replace(found, verdict=replace(found.verdict, certificate=str(tree["id"])))


def read_thresholds(path: str) -> tuple[str, Thresholds]:
    """The id of the certificate in a file, and its thresholds."""
    tree = _read(path)
    return str(tree["id"]), _thresholds(tree, path)


def certificate_id(tree: Mapping[str, Any]) -> str:
    """A digest of everything in a certificate except its history."""
    text = json.dumps({k: v for k, v in tree.items() if k not in _UNSIGNED}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def policy_of(settings: CollectionSettings) -> dict[str, str]:
    """The gate's policy, and a digest of all settings that affect scores or verdicts, except the
    thresholds themselves."""
    bare = Thresholds(0.0, 0.0, WITH_CAVEAT).apply(_without_floors(settings))
    gate = asdict(replace(bare.gate, contact=""))
    gate["learned"] = {}
    judge = (settings.judge.llm, settings.judge.model) if settings.checks.judge else ()
    tree = {
        "gate": gate,
        "checks": asdict(settings.checks),
        "routes": bare.verdict.routes,
        "judge": judge,
        **({"subject": settings.subject} if settings.subject else {}),
    }
    text = json.dumps(tree, sort_keys=True, default=list)
    return {"gate": settings.gate.policy, "digest": hashlib.sha256(text.encode()).hexdigest()[:16]}


def _differences(
    tree: Mapping[str, Any], settings: CollectionSettings, models: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    """The differences from the certificate: name, certified value, current value."""
    policy = policy_of(settings)
    pairs = [(f"the {name}", tree["models"].get(name, ""), id) for name, id in models.items()]
    pairs.append(("the policy", tree["policy"].get("gate", ""), policy["gate"]))
    pairs.append(("the settings", tree["policy"].get("digest", ""), policy["digest"]))
    drafter = "answers of an LLM" if tree.get("drafts") == WRITTEN else ""
    if drafter and settings.draft.llm == "extractive":
        pairs.append(("the drafter", drafter, "quotations"))
    return [(what, was, now) for what, was, now in pairs if was != now]


def _read(path: str) -> Mapping[str, Any]:
    try:
        tree = json.loads(Path(path).read_text(encoding="utf-8"))
        complete = all(
            isinstance(tree[name], dict) for name in ("models", "policy", "thresholds")
        ) and isinstance(tree["id"], str)
    except FileNotFoundError:
        raise SettingsError(
            f"verdict.thresholds_file: there is no file {path}.", remedy=_AGAIN.format(path)
        ) from None
    except (OSError, ValueError, TypeError, KeyError) as problem:
        raise _invalid(path) from problem
    if not complete:
        raise _invalid(path)
    if tree["id"] != certificate_id(tree):
        raise SettingsError(
            f"verdict.thresholds_file: {path} was changed after it was written: its id does not "
            "match its content.",
            remedy=_AGAIN.format(path),
        )
    read: Mapping[str, Any] = tree
    return read


def _invalid(path: str) -> SettingsError:
    return SettingsError(
        f"verdict.thresholds_file: {path} contains no certified thresholds.",
        remedy=f"{_AGAIN.format(path)}. If that certifies nothing, remove the setting.",
    )


def _thresholds(tree: Mapping[str, Any], path: str) -> Thresholds:
    try:
        gate, own = tree["thresholds"]["gate"], float(tree["thresholds"]["confidence"])
        served = tuple(Action(name) for name in tree["served"])
        return Thresholds(None if gate is None else float(gate), own, served)
    except (KeyError, TypeError, ValueError) as problem:
        raise _invalid(path) from problem


def _action(row: str) -> str:
    return row.partition("->")[2].partition(",")[0].strip()


def _always(row: str) -> bool:
    return row.partition("->")[0].strip() == "else"


def _floor(row: str) -> float:
    found = _FLOOR.findall(row.partition("->")[0])
    return max(map(float, found), default=0.0)


def _row(row: str, thresholds: Thresholds) -> str:
    """A row with the certified confidence. If answers with a caveat are certified too, SERVE keeps
    its own confidence if that is higher."""
    action = _action(row)
    if action not in thresholds.served:
        return row
    least = thresholds.confidence
    if action == Action.SERVE and Action.CAVEAT in thresholds.served:
        least = max(least, _floor(row))
    when, _, then = row.partition("->")
    parts = [part.strip() for part in when.split(" and ")]
    kept = [part for part in parts if part != "else" and not _FLOOR.fullmatch(part)]
    return " and ".join([*kept, f"confidence >= {least:.4f}"]) + f" -> {then.strip()}"


def _without_floors(settings: CollectionSettings) -> CollectionSettings:
    def bare(row: str) -> str:
        return _FLOOR.sub("confidence >= 0", row) if _action(row) in WITH_CAVEAT else row

    routes = tuple(map(bare, settings.verdict.routes))
    return replace(settings, verdict=VerdictSettings(routes=routes))
