"""Sealed records, and access to them by id, by number or page by page."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from suffice.errors import StoreDamaged
from suffice.log.chain import canonical, digest, parse

_NAME = re.compile(r"[a-z][a-z_]{0,39}\Z")
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, without ambiguous letters
WHO = "who"


def new_id() -> str:
    """A unique id of 26 characters; ids sort by the time of creation."""
    number = time.time_ns() // 1_000_000 << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -5, -5))


@dataclass(frozen=True, slots=True)
class Record:
    """An event of some `kind` ("verdict", "gate", "gap", "override", "erasure", …; the set is
    open). `fields` maps names to JSON trees. `caller` made the request, `tag` names the person or
    case concerned; content can be erased by either. A record with `once` is written only if its id
    is new."""

    kind: str
    fields: Mapping[str, object]
    caller: str = ""
    tag: str = ""
    id: str = field(default_factory=new_id)
    once: bool = False

    def __post_init__(self) -> None:
        for name in (self.kind, *self.fields):
            if not _NAME.match(name) or name == WHO:
                raise ValueError(f"{name!r} is not a valid name for a kind or field of a record")


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
        return parse(self.value)


def payload(fields: Mapping[str, object], omit: Collection[str] = ()) -> Payload:
    """Build the payload of the fields, in order. Fields in `omit` get only a commitment."""
    salts = os.urandom(SALT // 2 * len(fields)).hex()
    lines: list[str] = []
    committed: list[str] = []
    for number, (name, value) in enumerate(fields.items()):
        salt = salts[number * SALT : number * SALT + SALT]
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
    parsed: dict[str, object] = {}
    for line in text.split("\n"):
        name, _, value = line[SALT + 1 :].partition(" ")
        if name in names:
            parsed[name] = parse(value)
    return parsed


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
    left = (line for line in text.split("\n") if line.split(" ", 2)[1].rstrip("!") not in names)
    return "\n".join(left)


@dataclass(frozen=True, slots=True)
class Entry:
    """A sealed record."""

    sequence: int
    id: str
    time: str
    clock: str
    kind: str
    caller: str
    tag: str
    root: str
    seal: str
    link: str
    payload: str
    manifest: str | None = None

    def fields(self) -> dict[str, Any]:
        """The stored fields by name."""
        try:
            stored = (line for line in lines(self.payload) if line.stored and line.name != WHO)
            return {line.name: line.read() for line in stored}
        except ValueError as problem:
            raise StoreDamaged(
                f"The content of record {self.sequence} cannot be read: {problem}.",
                remedy="Run: suffice audit verify",
            ) from problem

    @property
    def not_stored(self) -> tuple[str, ...]:
        """Fields that were omitted because of the settings."""
        return tuple(line.name for line in lines(self.payload) if not line.stored)

    @property
    def erased(self) -> tuple[str, ...]:
        """Fields that were stored and later erased."""
        present = {line.key for line in lines(self.payload)}
        committed = commitments(self.manifest or "")
        return tuple(key.rstrip("!") for key in committed if key not in present)
