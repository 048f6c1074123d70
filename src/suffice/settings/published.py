"""Support for the published `sufficient_context:` block.

    sufficient_context:
      enabled: true
      min_contexts: 2
      thresholds: {sufficient: 0.8, partial: 0.5}
      require_embeddings: false
      decline_insufficient: false

The block is read as `gate.policy: coverage` in its exact mode, with these numbers.
`enabled: false` is read as `gate.policy: none`: the gate is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from suffice.settings.checked import bad_value
from suffice.settings.limits import AtMost, Count, Share
from suffice.settings.reader import build

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
