"""Is the log what was written? Every link, every payload, the head, and what checkpoints say.

One pass over the chain, in its order. A record is at fault where its own bytes are not those that
were sealed, or where it does not follow from the record before it; the pass tells, and goes on.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from json.encoder import encode_basestring_ascii

from sqlalchemy import Connection

from suffice.log.breaks import Faults, Verified
from suffice.log.canonical import digest
from suffice.log.chain import genesis, link_over
from suffice.log.checkpoints.checkpoint import Checkpoint
from suffice.log.erasures import Erasures
from suffice.log.payload import SALT, commitments, lines, manifest, root_of
from suffice.log.raw import Glance, Row, glances, row
from suffice.log.record import WHO
from suffice.log.seal import Head, head_of
from suffice.log.testimony import Testimony, hold_against
from suffice.sql.database import Database

Progress = Callable[[int, int], None]
"""Is told how many records of how many were looked at."""

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
    """`key`: the public key that has to have signed the checkpoints; without one, each is held
    against the key it names itself. `deep`: each field's commitment is computed anew as well, which
    takes longer and can find only what a program wrote wrongly, not what somebody changed."""
    start = time.perf_counter()
    with database.reading() as connection:
        head = head_of(connection)
        walk = _Walk(connection, head, deep)
        for portion in glances(connection):
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
        seconds=time.perf_counter() - start,
    )


class _Walk:
    """The pass: what it has seen, and what the next record has to follow from."""

    def __init__(self, connection: Connection, head: Head, deep: bool) -> None:
        self.connection = connection
        self.head = head
        self.deep = deep
        self.previous = genesis(head.log)
        self.other = self.previous
        """What the link before should have been, where that is not what stands there."""
        self.before = b""
        """What the link before is over."""
        self.last = 0
        self.records = 0
        self.faults = Faults()
        self.erasures = Erasures()

    def through(self, portion: Sequence[Glance]) -> None:
        """The usual record is whole, and gets no more than two hashes."""
        sha256, nobody = hashlib.sha256, _NOBODY
        for sequence, said, link, caller, tag, erased, erasure, payload in portion:
            self.records += 1
            try:
                whole = (
                    sequence == self.last + 1
                    and link == link_over(self.previous, sequence, said)
                    and not erased
                    and said.endswith(sha256(payload).hexdigest().encode())
                    and (
                        (caller is None and tag is None and payload.startswith(nobody, SALT))
                        or _who_fits(caller, tag, payload)
                    )
                )
            except TypeError:  # a column is empty that nobody left empty
                whole = False
            if not whole:
                self._look(row(self.connection, sequence))
            elif self.deep:
                id, *_, root, _ = said.split(b"\n")
                self._root(sequence, id, root, manifest(_text(payload)))
            if whole:
                self.last, self.previous, self.other = sequence, link, link
            self.before = said or b""
            if erasure:
                self._erasure(sequence, payload)

    def _look(self, row: Row) -> None:
        """At a record that is not as usual: what is wrong with it, if anything is."""
        follows = self._place(row)
        said = b"\n".join((row.id, row.time, row.clock, row.kind, row.root, row.seal))
        right = [link_over(before, row.sequence, said) for before in (self.previous, self.other)]
        if follows and row.link not in right:
            moved = row.time < b"".join(self.before.split(b"\n")[1:2])
            what = "is older than the one before it" if moved else "is not what was sealed"
            self._fault("moved" if moved else "edited", row, f"Record {row.sequence} {what}.")
        self._payload(row)
        self.last = max(self.last, row.sequence)
        self.previous, self.other = row.link, right[0]

    def _fault(self, what: str, row: Row, message: str) -> None:
        self.faults.add(what, row.sequence, row.name, message)

    def _place(self, row: Row) -> bool:
        """Whether it is the next one; what is missing before it is told."""
        expected = self.last + 1
        if row.sequence > expected:
            said = _run(expected, row.sequence - 1)
            self.faults.add("missing", expected, "", f"{said} missing before {row.sequence}.")
        elif row.sequence < expected:
            self._fault("added", row, f"Record {row.sequence} stands before the first one.")
        return row.sequence == expected

    def _payload(self, row: Row) -> None:
        text = _text(row.payload)
        if row.manifest is not None:
            self._erased(row, text, _text(row.manifest))
        elif row.seal != digest(row.payload).encode():
            said = f"What record {row.sequence} says is not what was sealed."
            self._fault("edited", row, said)
        who = any(line.name == WHO and line.stored for line in lines(text))
        named = row.caller is not None or row.tag is not None
        if (who or named) and not _who_fits(row.caller, row.tag, row.payload):
            said = f"Record {row.sequence} is filed under another caller or tag than it names."
            self._fault("edited", row, said)

    def _erased(self, row: Row, text: str, stated: str) -> None:
        """What is left of a record from which something was erased."""
        self._root(row.sequence, row.id, row.root, stated)
        known = commitments(stated)
        left = list(lines(text))
        for line in left:
            if known.get(line.key) != line.commitment:
                what = f"The field '{line.name}' of" if line.name else "A line of"
                said = f"{what} record {row.sequence} is not what was sealed."
                self._fault("edited", row, said)
        gone = frozenset(key.rstrip("!") for key in known.keys() - {line.key for line in left})
        if gone:
            self.erasures.lacks(row.sequence, gone, row.name)

    def _root(self, sequence: int, id: bytes, root: bytes, stated: str) -> None:
        if root_of(stated).encode() != root:
            said = f"The commitments of record {sequence} are not those that were sealed."
            self.faults.add("edited", sequence, id.decode("utf-8", "replace"), said)

    def _erasure(self, sequence: int, payload: bytes | None) -> None:
        """A record that says what was erased; one that cannot be read says nothing."""
        try:
            said = {line.name: line.read() for line in lines(_text(payload)) if line.stored}
            self.erasures.declares(sequence, said)
        except (ValueError, TypeError, AttributeError):
            return

    def end(self) -> None:
        """What should have come, and what vanished in silence."""
        head, last = self.head, self.last
        if head.sequence > last:
            said = f"{_run(last + 1, head.sequence)} missing at the end."
            self.faults.add("missing", last + 1, "", said)
        elif head.sequence < last:
            said = f"{_run(head.sequence + 1, last)} not known to the head of the log."
            self.faults.add("added", head.sequence + 1, "", said)
        elif head.link.encode() != self.previous:
            said = f"The head of the log names another link than record {last} has."
            self.faults.add("head", last, "", said)
        for sequence, id, names in self.erasures.silent():
            said = f"Record {sequence} lacks {', '.join(sorted(names))}"
            self.faults.add("erased", sequence, id, f"{said}, and no record says it was erased.")


def _who_fits(caller: bytes | None, tag: bytes | None, payload: bytes) -> bool:
    """Whether a record is filed under whom it names."""
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
