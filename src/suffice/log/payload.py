"""What a record says, as text: a line a field, each beside a salt of its own.

    SALT question "How long is parental leave?"

The hash of a line is the field's commitment. `root` is the hash of all names with their
commitments, `seal` that of the whole text; the chain holds both. A line that is erased takes its
salt along: of what stays in the chain nobody can tell what it said, not even by guessing. A field
that is not to be stored leaves its commitment and its salt, so that whoever keeps the text
elsewhere can show that it is the one: `SALT question! sha256:…`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from suffice.log.canonical import canonical, digest, read

SALT = 32
"""Characters of a salt: 16 random bytes in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Payload:
    """The text of a record's fields, and what the chain holds of it."""

    text: str
    root: str
    seal: str


@dataclass(frozen=True, slots=True)
class Line:
    """One field as it stands: `value` is its canonical text, empty where it is not stored."""

    name: str
    commitment: str
    value: str = ""
    stored: bool = True

    @property
    def key(self) -> str:
        """How the manifest names it: it tells what was never stored from what was."""
        return self.name if self.stored else f"{self.name}!"

    def read(self) -> object:
        return read(self.value)


def payload(fields: Mapping[str, object], omit: Collection[str] = ()) -> Payload:
    """The fields in their order; those to `omit` are committed to and not written."""
    salts = os.urandom(SALT // 2 * len(fields)).hex()
    lines: list[str] = []
    committed: list[str] = []
    for place, (name, value) in enumerate(fields.items()):
        salt = salts[place * SALT : place * SALT + SALT]
        line = f"{salt} {name} {canonical(value)}"
        commitment = digest(line.encode("ascii"))
        key = f"{name}!" if name in omit else name
        lines.append(f"{salt} {key} {commitment}" if name in omit else line)
        committed.append(f"{key} {commitment}")
    text = "\n".join(lines)
    return Payload(text, root_of("\n".join(committed)), digest(text.encode("ascii")))


def lines(text: str) -> Iterator[Line]:
    """The fields of a payload; what is no line of ours is told by a name that is empty."""
    for line in text.split("\n") if text else ():
        salt, _, rest = line.partition(" ")
        name, _, value = rest.partition(" ")
        if name.endswith("!"):
            yield Line(name[:-1], value, stored=False)
        elif len(salt) == SALT and value:
            yield Line(name, digest(line.encode("utf-8", "surrogatepass")), value)
        else:
            yield Line("", "")


def manifest(text: str) -> str:
    """Names and commitments of a payload, a line each: what stays when a field is erased."""
    return "\n".join(f"{line.key} {line.commitment}" for line in lines(text))


def commitments(text: str) -> dict[str, str]:
    """A manifest read: commitments by key."""
    return dict(line.partition(" ")[::2] for line in text.split("\n")) if text else {}


def root_of(manifest: str) -> str:
    return digest(manifest.encode("utf-8", "surrogatepass"))


def without(text: str, names: Collection[str]) -> str:
    """The payload with these fields and their salts gone."""
    kept = (line for line in text.split("\n") if line.split(" ", 2)[1].rstrip("!") not in names)
    return "\n".join(kept)


def proves(text: str, name: str, value: object) -> bool:
    """Whether this is what a field said that was not stored (or was)."""
    for line in text.split("\n"):
        salt, _, rest = line.partition(" ")
        if rest.startswith((f"{name} ", f"{name}! ")):
            said = digest(f"{salt} {name} {canonical(value)}".encode("ascii"))
            return any(one.commitment == said for one in lines(line))
    return False
