"""The payload: the fields of a record as text, one line per field, each with its own salt.

    SALT question "How long is parental leave?"

The hash of a line is the field's commitment. `root` is the hash of all names and commitments,
`seal` the hash of the whole text; the chain holds both. Erasing a line erases its salt, so the
content cannot be recovered from the commitment, not even by guessing. A field that the
settings omit keeps its commitment and salt (`SALT question! sha256:…`), so a text kept elsewhere
can be proved to be the original.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from suffice.errors import StoreDamaged
from suffice.log.canonical import canonical, digest, read

SALT = 32
"""Length of a salt in characters: 16 random bytes in hexadecimal."""
UNREADABLE = (
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RecursionError,
    StoreDamaged,
)
"""What reading the fields of a damaged payload may raise."""


@dataclass(frozen=True, slots=True)
class Payload:
    """The text of a record's fields, and its hashes that go into the chain."""

    text: str
    root: str
    seal: str


@dataclass(frozen=True, slots=True)
class Line:
    """A field of a payload; `value` is its canonical text, empty if it is not stored."""

    name: str
    commitment: str
    value: str = ""
    stored: bool = True

    @property
    def key(self) -> str:
        """The name in the manifest, with `!` for a field that was never stored."""
        return self.name if self.stored else f"{self.name}!"

    def read(self) -> object:
        return read(self.value)


def payload(fields: Mapping[str, object], omit: Collection[str] = ()) -> Payload:
    """Build the payload of the fields, in order. Fields in `omit` get only a commitment."""
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
    """Parse the fields of a payload; a malformed line yields an empty name."""
    for line in text.split("\n") if text else ():
        salt, _, rest = line.partition(" ")
        name, _, value = rest.partition(" ")
        if name.endswith("!"):
            yield Line(name[:-1], value, stored=False)
        elif len(salt) == SALT and value:
            yield Line(name, digest(line.encode("utf-8", "surrogatepass")), value)
        else:
            yield Line("", "")


def values(text: str, names: Collection[str]) -> dict[str, object]:
    """The stored fields in `names`; the others, which may be large, are not parsed."""
    found: dict[str, object] = {}
    for line in text.split("\n"):
        name, _, value = line[SALT + 1 :].partition(" ")
        if name in names:
            found[name] = read(value)
    return found


def manifest(text: str) -> str:
    """Names and commitments of a payload, one per line; kept when fields are erased."""
    return "\n".join(f"{line.key} {line.commitment}" for line in lines(text))


def commitments(text: str) -> dict[str, str]:
    """Parse a manifest into commitments by key."""
    return dict(line.partition(" ")[::2] for line in text.split("\n")) if text else {}


def root_of(manifest: str) -> str:
    return digest(manifest.encode("utf-8", "surrogatepass"))


def without_fields(text: str, names: Collection[str]) -> str:
    """The payload without these fields and their salts."""
    kept = (line for line in text.split("\n") if line.split(" ", 2)[1].rstrip("!") not in names)
    return "\n".join(kept)
