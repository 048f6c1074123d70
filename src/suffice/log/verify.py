"""Verifies the log: every link, every payload, the head, and agreement with checkpoints.

Verification is one pass over the chain in order. A record is faulty if its bytes differ from those
that were sealed, or if it does not follow from the previous record. Faults do not stop the pass.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii

from suffice.log.breaks import Fault, Faults, Verified
from suffice.log.canonical import digest
from suffice.log.chain import genesis, link_over
from suffice.log.checkpoints.checkpoint import Checkpoint
from suffice.log.erasures import Erasures
from suffice.log.payload import SALT, commitments, lines, manifest, root_of
from suffice.log.raw import Glance, Row, row, row_batches, row_span
from suffice.log.record import WHO
from suffice.log.seal import Head, head_of
from suffice.log.testimony import Testimony, hold_against
from suffice.sql.database import Database
from suffice.sql.toolkit import Connection

Progress = Callable[[int, int], None]
"""Called with the number of records verified and the total."""

_NOBODY = b' who ["",""]'
_NOT_STORED = b" who! "


def verify(
    database: Database,
    checkpoints: Sequence[Checkpoint] = (),
    *,
    key: str = "",
    deep: bool = False,
    progress: Progress = lambda done, total: None,
) -> Verified:
    """Verify the log. `key` is the public key that must have signed the checkpoints; without it,
    each is verified with the key it names. `deep` also recomputes each field's commitment, which is
    slower and can only reveal software errors, not manipulation."""
    start = time.perf_counter()
    with database.reading() as connection:
        head = head_of(connection)
        walk = _Walk(connection, head, deep)
        for portion in row_batches(connection):
            walk.through(portion)
            progress(walk.records, head.sequence)
        walk.end()
        hold_against(connection, head, walk.last, Testimony(checkpoints, key), walk.faults)
    return Verified(
        log=head.log,
        records=walk.records,
        last=walk.last,
        link=_text(walk.previous),
        erased=walk.erasures.records,
        checkpoints=len(checkpoints),
        faults=tuple(walk.faults.found),
        count=walk.faults.count,
        steps_back=walk.steps,
        first_step_back=walk.first_step,
        seconds=time.perf_counter() - start,
    )


@dataclass(frozen=True, slots=True)
class Span:
    """The result of verifying some consecutive records, assuming that the record before them is
    intact. Only a verification of the whole log finds an unrecorded erasure."""

    first: int
    last: int
    faults: tuple[Fault, ...] = ()

    @property
    def whole(self) -> bool:
        return not self.faults


def verify_around(database: Database, sequence: int, beside: int = 10) -> Span:
    """Verify a record and `beside` records on either side: their content, and that each follows
    from the one before. The cost does not depend on the length of the log."""
    with database.reading() as connection:
        head = head_of(connection)
        first, last = max(sequence - beside, 1), min(sequence + beside, head.sequence)
        walk = _Walk(connection, head, deep=True)
        before = row_span(connection, first - 1, first - 1)
        if before:
            walk.previous = walk.other = before[0][2]
            walk.before = before[0][1]
        walk.last = first - 1
        walk.through(row_span(connection, first, last))
        if walk.last < last:
            message = f"{_run(walk.last + 1, last)} missing."
            walk.faults.add("missing", walk.last + 1, "", message)
        if last == head.sequence and walk.last == last and head.link.encode() != walk.previous:
            message = f"The link in the head of the log differs from that of record {last}."
            walk.faults.add("head", last, "", message)
    return Span(first, last, tuple(walk.faults.found))


class _Walk:
    """State of the verification pass."""

    def __init__(self, connection: Connection, head: Head, deep: bool) -> None:
        self.connection = connection
        self.head = head
        self.deep = deep
        self.previous = genesis(head.log)
        self.other = self.previous
        """The correct previous link, which may differ from the stored link."""
        self.before = b""
        """The columns covered by the previous link."""
        self.last = 0
        self.records = 0
        self.faults = Faults()
        self.erasures = Erasures()
        self.steps = 0
        """Places where the time goes back because a clock had been wrong."""
        self.first_step = 0

    def through(self, portion: Sequence[Glance]) -> None:
        """Verify a batch. An intact record costs only two hashes."""
        sha256, nobody = hashlib.sha256, _NOBODY
        for sequence, columns, link, caller, tag, erased, erasure, payload in portion:
            self.records += 1
            try:
                whole = (
                    sequence == self.last + 1
                    and link == link_over(self.previous, sequence, columns)
                    and not erased
                    and columns.endswith(sha256(payload).hexdigest().encode())
                    and (
                        (caller is None and tag is None and payload.startswith(nobody, SALT))
                        or _caller_and_tag_match(caller, tag, payload)
                    )
                )
            except TypeError:  # a required column is NULL
                whole = False
            if not whole:
                self._examine(row(self.connection, sequence))
            elif self.deep:
                id, *_, root, _ = columns.split(b"\n")
                self._root(sequence, id, root, manifest(_text(payload)))
            if columns and b"\n\n" not in columns:  # no empty line: a clock was behind
                self._step_back(sequence, columns)
            if whole:
                self.last, self.previous, self.other = sequence, link, link
            self.before = columns or b""
            if erasure:
                self._erasure(sequence, payload)

    def _step_back(self, sequence: int, columns: bytes) -> None:
        """Count a record whose time goes back because a clock had been wrong."""
        _, time, clock, *_ = columns.split(b"\n")
        if time == clock:
            self.steps += 1
            self.first_step = self.first_step or sequence

    def _examine(self, row: Row) -> None:
        """Examine a record that failed the quick check and report its faults."""
        follows = self._check_position(row)
        columns = b"\n".join((row.id, row.time, row.clock, row.kind, row.root, row.seal))
        right = [link_over(before, row.sequence, columns) for before in (self.previous, self.other)]
        if follows and row.link not in right:
            moved = row.time < b"".join(self.before.split(b"\n")[1:2])
            what = "is older than the previous record" if moved else "differs from what was sealed"
            self._fault("moved" if moved else "edited", row, f"Record {row.sequence} {what}.")
        self._payload(row)
        self.last = max(self.last, row.sequence)
        self.previous, self.other = row.link, right[0]

    def _fault(self, what: str, row: Row, message: str) -> None:
        self.faults.add(what, row.sequence, row.name, message)

    def _check_position(self, row: Row) -> bool:
        """Whether the record is the next one; report a gap before it."""
        expected = self.last + 1
        if row.sequence > expected:
            run = _run(expected, row.sequence - 1)
            self.faults.add("missing", expected, "", f"{run} missing before record {row.sequence}.")
        elif row.sequence < expected:
            self._fault("added", row, f"Record {row.sequence} was inserted before the first one.")
        return row.sequence == expected

    def _payload(self, row: Row) -> None:
        text = _text(row.payload)
        if row.manifest is not None:
            self._erased(row, text, _text(row.manifest))
        elif row.seal != digest(row.payload).encode():
            message = f"The content of record {row.sequence} differs from what was sealed."
            self._fault("edited", row, message)
        who = any(line.name == WHO and line.stored for line in lines(text))
        named = row.caller is not None or row.tag is not None
        if (who or named) and not _caller_and_tag_match(row.caller, row.tag, row.payload):
            message = f"The caller or tag of record {row.sequence} differs from what was sealed."
            self._fault("edited", row, message)

    def _erased(self, row: Row, text: str, stated: str) -> None:
        """Verify the remaining fields of a record from which content was erased."""
        self._root(row.sequence, row.id, row.root, stated)
        known = commitments(stated)
        left = list(lines(text))
        for line in left:
            if known.get(line.key) != line.commitment:
                what = f"The field '{line.name}' of" if line.name else "A line of"
                message = f"{what} record {row.sequence} differs from what was sealed."
                self._fault("edited", row, message)
        gone = frozenset(key.rstrip("!") for key in known.keys() - {line.key for line in left})
        if gone:
            self.erasures.lacks(row.sequence, gone, row.name)

    def _root(self, sequence: int, id: bytes, root: bytes, stated: str) -> None:
        if root_of(stated).encode() != root:
            message = f"The commitments of record {sequence} differ from what was sealed."
            self.faults.add("edited", sequence, id.decode("utf-8", "replace"), message)

    def _erasure(self, sequence: int, payload: bytes | None) -> None:
        """Register an erasure record; an unreadable one declares nothing."""
        try:
            fields = {line.name: line.read() for line in lines(_text(payload)) if line.stored}
            self.erasures.declares(sequence, fields)
        except (ValueError, TypeError, AttributeError):
            return

    def end(self) -> None:
        """Compare the last record with the head, and report undeclared erasures."""
        head, last = self.head, self.last
        if head.sequence > last:
            message = f"{_run(last + 1, head.sequence)} missing at the end."
            self.faults.add("missing", last + 1, "", message)
        elif head.sequence < last:
            message = f"{_run(head.sequence + 1, last)} not covered by the head of the log."
            self.faults.add("added", head.sequence + 1, "", message)
        elif head.link.encode() != self.previous:
            message = f"The link in the head of the log differs from that of record {last}."
            self.faults.add("head", last, "", message)
        for sequence, id, names in self.erasures.silent():
            message = f"Record {sequence} lacks {', '.join(sorted(names))}"
            message += ", but no record of the erasure exists."
            self.faults.add("erased", sequence, id, message)


def _caller_and_tag_match(caller: bytes | None, tag: bytes | None, payload: bytes) -> bool:
    """Whether the columns caller and tag match the payload."""
    if caller is None and tag is None and payload.startswith(_NOT_STORED, SALT):
        return True
    named = ",".join(
        encode_basestring_ascii(_text(value)) if value else '""' for value in (caller, tag)
    )
    return payload.startswith(f" {WHO} [{named}]".encode(), SALT)


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "surrogateescape")


def _run(first: int, last: int) -> str:
    return f"Record {first} is" if first == last else f"Records {first} to {last} are"
