"""All attacks, by name."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.errors import SettingsError
from suffice.learn.redteam.attacks.documents import (
    Instructions,
    NoDocument,
    ParametricBait,
    PlantedPassages,
)
from suffice.learn.redteam.attacks.form import JudgeManipulation, LongContext, LookAlikes, Padding
from suffice.learn.redteam.attacks.meaning import (
    DroppedCondition,
    Extrapolation,
    Negation,
    Synthesis,
)
from suffice.learn.redteam.attacks.sources import Authority, Conflicting, Laundering, VersionMix
from suffice.learn.redteam.attacks.values import DATE, NUMBER, UNIT, RoleEdit
from suffice.learn.redteam.case import Attack

ATTACKS: tuple[Attack, ...] = (
    NoDocument(),
    Conflicting(),
    ParametricBait(),
    Extrapolation(),
    Synthesis(),
    VersionMix(),
    Authority(),
    NUMBER,
    DATE,
    UNIT,
    RoleEdit(),
    Negation(),
    DroppedCondition(),
    PlantedPassages(),
    Instructions(),
    Padding(),
    LongContext(),
    LookAlikes(),
    JudgeManipulation(),
    Laundering(),
)


def chosen(names: Sequence[str]) -> tuple[Attack, ...]:
    """The attacks with these names, in the order of `ATTACKS`; without names, all of them."""
    known = {attack.name: attack for attack in ATTACKS}
    if unknown := [name for name in names if name not in known]:
        raise SettingsError(
            f"There is no attack “{unknown[0]}”.", remedy=f"Use one of: {', '.join(known)}."
        )
    return tuple(attack for attack in ATTACKS if not names or attack.name in names)
