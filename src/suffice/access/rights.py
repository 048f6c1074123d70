"""Validation of the rights and limits that a key or team is given."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from suffice.errors import PrincipalError
from suffice.log.moment import timestamp
from suffice.sql.storable import is_storable

LIMITS = (
    "requests_per_minute",
    "requests_per_day",
    "requests_per_month",
    "concurrent",
    "tokens_per_minute",
    "tokens_per_day",
    "tokens_per_month",
    "cost_per_day",
    "cost_per_month",
)
"""The limits a principal can have. Other names are rejected, because nothing would enforce them."""
ANYONE_NAME = "anyone"
"""The caller name of requests without a key; it cannot be given to a principal."""
LOCAL_NAME = "local"
"""The user name on the site of a gateway that requires no keys; no principal can have it."""
LONGEST_NAME = 100
_NAME = re.compile(rf"\S(?:.{{0,{LONGEST_NAME - 2}}}\S)?\Z")


def checked_name(name: str, what: str = "key") -> str:
    option, id = name.startswith("-"), re.fullmatch("[0-9a-f]{16}", name)
    taken = name.strip().lower() in (ANYONE_NAME, LOCAL_NAME)
    if _NAME.match(name) and name.isprintable() and not (option or id or taken):
        return name
    raise PrincipalError(
        f"{name!r} is not a valid name for a {what}.",
        remedy=f"Use 1 to {LONGEST_NAME} printable characters. The name must not start with '-', "
        f"be '{ANYONE_NAME}' or '{LOCAL_NAME}', or look like a key id.",
    )


def checked_set(what: str, names: Iterable[str]) -> frozenset[str]:
    found = frozenset(names)
    for name in found:
        if not name or not is_storable(name):
            raise PrincipalError(
                f"{name!r} is not a valid {what} name.", remedy="Pass a valid name, or omit it."
            )
    return found


def checked_expiry(expires: datetime | None, now: datetime) -> str:
    if expires is None:
        return ""
    if expires <= now:
        raise PrincipalError(
            f"The key would expire at {timestamp(expires)}, which is in the past.",
            remedy="Choose a later time.",
        )
    return timestamp(expires)


def checked_limits(limits: Mapping[str, float]) -> dict[str, float]:
    for name, value in limits.items():
        if name not in LIMITS:
            raise PrincipalError(
                f"Unknown limit '{name}'.", remedy=f"Allowed limits: {', '.join(LIMITS)}."
            )
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value < 0:
            raise PrincipalError(
                f"The limit {name} has the invalid value {value!r}.",
                remedy="Pass a number of 0 or more.",
            )
    return dict(limits)
