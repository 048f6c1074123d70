"""Verifies the log: every link, every payload, the head, and agreement with checkpoints.

Verification is one pass over the chain in order. A record is faulty if its bytes differ from those
that were sealed, or if it does not follow from the previous record. Faults do not stop the pass.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

from suffice.log.chain import digest, genesis, link_over
from suffice.log.checkpoints import Checkpoint, genuine
from suffice.log.erasure import Erasures
from suffice.log.record import SALT, WHO, commitments, lines, manifest, root_of
from suffice.log.tables import RECORDS
from suffice.log.writer import Head, head_of
from suffice.sql import sa
from suffice.sql.database import Database


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


_HEAD = ("id", "time", "clock", "kind", "root", "seal")
_TEXTS = (*_HEAD, "link", "caller", "tag", "manifest", "payload")
_FIRST = -(2**63)
_ROWS, _FEW = 500, 10
_CHARACTERS = 32_000_000
_CACHED = 32
_MAPPED = 2**31

Glance = tuple[int, bytes, bytes, bytes | None, bytes | None, int, int, bytes]
"""The part of a row that verification needs: sequence; the columns covered by the link, one per
line; link; caller; tag; whether content was erased; whether the row records an erasure; payload.
In a manipulated row any column may be `None`."""


class Row(NamedTuple):
    """A complete row of the table."""

    sequence: int
    id: bytes
    time: bytes
    clock: bytes
    kind: bytes
    root: bytes
    seal: bytes
    link: bytes
    caller: bytes | None
    tag: bytes | None
    manifest: bytes | None
    payload: bytes

    @property
    def name(self) -> str:
        return self.id.decode("utf-8", "replace")


def row_batches(connection: sa.Connection) -> Iterator[list[Glance]]:
    """All rows in order, in batches."""
    return _streamed(connection) if _is_sqlite(connection) else _portions(connection)


def row_span(connection: sa.Connection, first: int, last: int) -> list[Glance]:
    """The rows from the first to the last number, in order."""
    query = f"SELECT {_columns(connection)} FROM records WHERE sequence BETWEEN {int(first)} AND "
    found = connection.exec_driver_sql(f"{query}{int(last)} ORDER BY sequence").all()
    return [(one[0], *map(_bytes, one[1:5]), one[5], one[6], _bytes(one[7])) for one in found]


def row(connection: sa.Connection, sequence: int) -> Row:
    """One complete row; a required column that is NULL becomes empty."""
    columns = ", ".join(_as_bytes(connection, name) for name in _TEXTS)
    query = f"SELECT {columns} FROM records WHERE sequence = {int(sequence)}"
    found = connection.exec_driver_sql(query).one()
    allowed = ("caller", "tag", "manifest")
    pairs = zip(_TEXTS, found, strict=True)
    return Row(
        sequence,
        *(b"" if value is None and name not in allowed else _bytes(value) for name, value in pairs),
    )


def _is_sqlite(connection: sa.Connection) -> bool:
    return connection.dialect.name == "sqlite"


def _as_bytes(connection: sa.Connection, expression: str) -> str:
    return f"CAST({expression} AS BLOB)" if _is_sqlite(connection) else expression


def _bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _columns(connection: sa.Connection) -> str:
    line = "char(10)" if _is_sqlite(connection) else "chr(10)"
    texts = (f" || {line} || ".join(_HEAD), "link", "caller", "tag")
    flags = ("manifest IS NOT NULL", "kind = 'erasure'")
    read = (_as_bytes(connection, text) for text in texts)
    return ", ".join(("sequence", *read, *flags, _as_bytes(connection, "payload")))


def _streamed(connection: sa.Connection) -> Iterator[list[Glance]]:
    """Read from SQLite, which returns rows one by one. Memory-mapping the file and batches that fit
    the CPU cache save a third of the time."""
    connection.exec_driver_sql(f"PRAGMA mmap_size = {_MAPPED}")
    query = f"SELECT {_columns(connection)} FROM records ORDER BY sequence"
    result = connection.exec_driver_sql(query)
    cursor = result.cursor
    assert cursor is not None
    try:
        while found := cursor.fetchmany(_CACHED):
            yield list(found)
    finally:
        result.close()
        connection.exec_driver_sql("PRAGMA mmap_size = 0")


def _portions(connection: sa.Connection) -> Iterator[list[Glance]]:
    """Read from PostgreSQL, which returns a whole result at once, so batches are small if payloads
    are large. The server prepares the next batch while the current one is processed."""
    chosen = "FROM records WHERE sequence > %s ORDER BY sequence LIMIT %s"
    size = f"SELECT sum(octet_length(payload)) FROM (SELECT payload {chosen}) AS portion"
    query = f"SELECT {_columns(connection)} {chosen}"
    driver: Any = connection.connection.driver_connection  # thread-safe, unlike SQLAlchemy's

    def fetch(last: int) -> list[Any]:
        with driver.cursor() as cursor:
            total = cursor.execute(size, (last, _ROWS)).fetchone()[0] or 0
            most = _ROWS if total <= _CHARACTERS else _FEW
            rows: list[Any] = cursor.execute(query, (last, most)).fetchall()
            return rows

    connection.exec_driver_sql("SELECT 1")  # begin the transaction, report connection errors
    with ThreadPoolExecutor(1) as ahead:
        coming = ahead.submit(fetch, _FIRST)
        while found := _result(coming, connection):
            coming = ahead.submit(fetch, found[-1][0])
            yield [
                (row[0], *map(_bytes, row[1:5]), row[5], row[6], _bytes(row[7])) for row in found
            ]


def _result(coming: Future[list[Any]], connection: sa.Connection) -> list[Any]:
    """The fetched rows. After a failure, use the connection once more, so that a lost connection
    raises the translated error."""
    try:
        return coming.result()
    except Exception:  # any failure in the fetching thread
        connection.exec_driver_sql("SELECT 1")
        raise


_PORTION = 500


@dataclass(frozen=True, slots=True)
class Testimony:
    """Checkpoints and the public key that must have signed them (empty: the key each names)."""

    checkpoints: Sequence[Checkpoint] = ()
    key: str = ""


def hold_against(
    connection: sa.Connection, head: Head, last: int, testimony: Testimony, faults: Faults
) -> None:
    """Compare the log with checkpoints, oldest first. A change happened between the last checkpoint
    that agrees and the first that does not."""
    agreed = 0
    valid = [
        point for point in testimony.checkpoints if _genuine(point, head, testimony.key, faults)
    ]
    for point, link in _links(connection, valid):
        if link == point.link:
            agreed = max(agreed, point.sequence)
            continue
        after = f"after record {agreed}" if agreed else "from the first record on"
        if link is None and point.sequence > last:
            detail = f"the log was truncated; its last record was {point.sequence}"
        elif link is None:
            detail = f"record {point.sequence} existed and is now missing"
        else:
            detail = f"the chain was rebuilt {after}, at or before record {point.sequence}"
        at = last + 1 if point.sequence > last else agreed + 1
        faults.add("checkpoint", at, "", f"According to the checkpoint of {point.time}, {detail}.")


def _genuine(point: Checkpoint, head: Head, key: str, faults: Faults) -> bool:
    if point.log != head.log:
        message = f"The checkpoint of {point.time} belongs to another log."
    elif key and point.key != key:
        message = f"The checkpoint of {point.time} was signed with another key."
    elif not genuine(point):
        message = f"The signature of the checkpoint of {point.time} is invalid."
    else:
        return True
    faults.add("checkpoint", point.sequence, "", message)
    return False


def _links(
    connection: sa.Connection, points: Sequence[Checkpoint]
) -> Iterator[tuple[Checkpoint, str | None]]:
    ordered = sorted(points, key=lambda point: point.sequence)
    for start in range(0, len(ordered), _PORTION):
        portion = ordered[start : start + _PORTION]
        query = sa.select(RECORDS.c.sequence, RECORDS.c.link).where(
            RECORDS.c.sequence.in_([point.sequence for point in portion])
        )
        found = {row.sequence: row.link for row in connection.execute(query)}
        for point in portion:
            yield point, found.get(point.sequence)


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

    def __init__(self, connection: sa.Connection, head: Head, deep: bool) -> None:
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
