"""Recorded verifications of the whole log: when, by whom and with which result.

The result covers the records before it; the chain covers the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from suffice.log.breaks import Verified
from suffice.log.entry import Choice, page
from suffice.log.record import Record
from suffice.record.log import Log

VERIFICATION = "verification"
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Verification:
    """A recorded verification of the records up to `last`. `faults` counts them."""

    time: str
    by: str
    last: int
    faults: int
    seconds: float

    @property
    def whole(self) -> bool:
        return not self.faults


def record_verification(log: Log, found: Verified, by: str = "") -> str:
    """Write the result of a verification to the log; return the id of its record."""
    fields = {
        "records": found.records,
        "last": found.last,
        "link": found.link,
        "checkpoints": found.checkpoints,
        "faults": found.count,
        "first_faults": [fault.message for fault in found.faults[:_SHOWN]],
        "seconds": round(found.seconds, 3),
    }
    record = Record(VERIFICATION, fields, caller=by)
    log.append(record)
    return record.id


def last_verification(log: Log) -> Verification | None:
    """The newest recorded verification; `None` if no readable one exists."""
    with log.database.reading() as connection:
        found = page(connection, Choice(kind=VERIFICATION), 1)
    if not found:
        return None
    fields: Mapping[str, Any] = found[0].fields()
    if "faults" not in fields or "last" not in fields:  # erased
        return None
    seconds = float(fields.get("seconds", 0.0))
    return Verification(found[0].time, found[0].caller, fields["last"], fields["faults"], seconds)
