"""The routing table: maps the assessment of a draft to an action. The first matching row wins.

A row reads `conditions -> ACTION`: conditions joined by "and", each a flag (`fabricated`) or a
comparison (`faithfulness >= 0.85`); `else` always matches. `-> WITHHOLD, NOTE` adds a note for
readers of the log.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from suffice.errors import SettingsError
from suffice.types import Action, Code
from suffice.verdict.assess import QUOTED, UNVERIFIED, Assessment

_NUMBERS = ("confidence", "faithfulness", "facts", "unchecked")
_CODES = tuple(code.value for code in Code)
_FLAGS = (*_CODES, "contradicted", "mismatch", "conflict", UNVERIFIED, QUOTED)
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt,
}  # fmt: skip
_ROW = re.compile(r"(?P<when>.+?)->\s*+(?P<action>[A-Z]++)(?:\s*+,\s*+(?P<note>(?s:.+)))?")
_NUMBER = re.compile(rf"({'|'.join(_NUMBERS)})\s*(>=|<=|>|<)\s*(\d+(?:\.\d+)?|\.\d+)")
_REMEDY = (
    'Write rows such as "fabricated -> WITHHOLD" or "faithfulness >= 0.85 and facts >= 0.8 -> '
    f'SERVE", and end with a row such as "else -> WITHHOLD". Numbers: {", ".join(_NUMBERS)}. '
    f"Flags: {', '.join(_FLAGS)}."
)
Condition = Callable[[Assessment, bool], bool]


@dataclass(frozen=True, slots=True)
class RoutingRow:
    """One row of the table."""

    text: str
    action: Action
    note: str
    conditions: tuple[Condition, ...]

    def fits(self, assessment: Assessment, *, conflict: bool) -> bool:
        return all(condition(assessment, conflict) for condition in self.conditions)


def read_routes(rows: Sequence[str]) -> tuple[RoutingRow, ...]:
    """Parse the table from the settings; the last row must be an `else` row."""
    return _read_routes(tuple(rows))


@lru_cache(maxsize=64)
def _read_routes(rows: tuple[str, ...]) -> tuple[RoutingRow, ...]:
    routes = tuple(_route(row) for row in rows)
    if not routes or routes[-1].conditions:
        raise SettingsError("verdict.routes does not end with an `else` row.", remedy=_REMEDY)
    return routes


def first_match(
    routes: Sequence[RoutingRow], assessment: Assessment, *, conflict: bool = False
) -> RoutingRow:
    return next(route for route in routes if route.fits(assessment, conflict=conflict))


def _route(row: str) -> RoutingRow:
    read = _ROW.fullmatch(row.strip())
    if read is None or read["action"] not in Action.__members__:
        raise SettingsError(f"verdict.routes has the invalid row '{row}'.", remedy=_REMEDY)
    when = read["when"].strip()
    parts = [] if when == "else" else [part.strip() for part in when.split(" and ")]
    conditions = tuple(_condition(part, row) for part in parts)
    return RoutingRow(row.strip(), Action[read["action"]], read["note"] or "", conditions)


def _holds(value: float | None, compare: Callable[[float, float], bool], least: float) -> bool:
    """Compare a number; an unavailable number counts as 1, so that it never blocks a draft."""
    return compare(1.0 if value is None else value, least)


def _condition(text: str, row: str) -> Condition:
    if number := _NUMBER.fullmatch(text):
        name, sign, value = number.groups()
        compare, least = _COMPARE[sign], float(value)
        return lambda assessment, _: _holds(getattr(assessment, name), compare, least)
    if text == "conflict":
        return lambda _, conflict: conflict
    if text in _FLAGS:
        return lambda assessment, _: text in assessment.flags
    raise SettingsError(
        f"verdict.routes has the unknown condition '{text}' in the row '{row}'.", remedy=_REMEDY
    )
