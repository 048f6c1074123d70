"""What a salted commitment in the log lets its reader prove."""

from __future__ import annotations

from suffice.log.chain import canonical, digest
from suffice.log.record import lines


def proves(text: str, name: str, value: object) -> bool:
    """Whether `value` matches the commitment of a field, stored or not."""
    for line in text.split("\n"):
        salt, _, rest = line.partition(" ")
        if rest.startswith((f"{name} ", f"{name}! ")):
            commitment = digest(f"{salt} {name} {canonical(value)}".encode("ascii"))
            return any(field.commitment == commitment for field in lines(line))
    return False
