"""What is wrong with a log, and where."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fault:
    """`what` is one of: edited, missing, added, moved, erased, head, checkpoint. `sequence` is the
    first record concerned, `id` its name where it has one."""

    what: str
    sequence: int
    id: str
    message: str


@dataclass(slots=True)
class Faults:
    """The first of them in full, the others counted."""

    most: int = 100
    found: list[Fault] = field(default_factory=list)
    count: int = 0

    def add(self, what: str, sequence: int, id: str, message: str) -> None:
        self.count += 1
        if len(self.found) < self.most:
            self.found.append(Fault(what, sequence, id, message))


@dataclass(frozen=True, slots=True)
class Verified:
    """What a pass over the log found. `whole`: nothing is wrong with it."""

    log: str
    records: int
    last: int
    link: str
    erased: int
    """Records from which something was erased, as a record of the erasure says."""
    checkpoints: int
    faults: tuple[Fault, ...]
    count: int
    """Faults in all; `faults` are the first of them."""
    seconds: float

    @property
    def whole(self) -> bool:
        return not self.count
