"""Faults found in a log, and the result of a verification."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fault:
    """`what` is one of: edited, missing, added, moved, erased, head, checkpoint. `sequence` is the
    first affected record, `id` its id if it has one."""

    what: str
    sequence: int
    id: str
    message: str


@dataclass(slots=True)
class Faults:
    """Collects faults: keeps the first `most` and counts all."""

    most: int = 100
    found: list[Fault] = field(default_factory=list)
    count: int = 0

    def add(self, what: str, sequence: int, id: str, message: str) -> None:
        self.count += 1
        if len(self.found) < self.most:
            self.found.append(Fault(what, sequence, id, message))


@dataclass(frozen=True, slots=True)
class Verified:
    """Result of a verification; `whole` is true if there are no faults."""

    log: str
    records: int
    last: int
    link: str
    erased: int
    """Number of records from which content was erased."""
    checkpoints: int
    faults: tuple[Fault, ...]
    count: int
    """Total number of faults; `faults` holds the first of them."""
    seconds: float
    steps_back: int = 0
    """Places where the time goes back because a clock had been wrong. They are no faults: the
    order of the records is that of their numbers."""
    first_step_back: int = 0
    """The number of the first record after such a place; 0 without one."""

    @property
    def whole(self) -> bool:
        return not self.count
