"""A checkpoint: the signed state of the log at one time, to be stored where those who can write to
the log cannot change it.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from suffice.errors import ExtraMissing, StoreError, StoreUnreachable, SufficeError
from suffice.log.chain import Clock, canonical, parse, read_time, timestamp
from suffice.log.tables import CHECKPOINTS, HEAD
from suffice.log.writer import Head, head_of
from suffice.settings import SignSettings
from suffice.sql.backend import masked
from suffice.sql.database import Database
from suffice.sql.toolkit import insert, select, update

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a log with `count` records, the last being `sequence` with its `link`. The
    signature covers the canonical form of all other fields."""

    log: str
    sequence: int
    link: str
    time: str
    count: int
    key: str
    """The public key: "ed25519:…" in base 64."""
    signature: str = ""

    @property
    def signed(self) -> bytes:
        """The bytes covered by the signature."""
        fields = asdict(self)
        del fields["signature"]
        return canonical(fields).encode()

    def text(self) -> str:
        """One line of JSON."""
        return canonical(asdict(self))


def checkpoint_of(raw: Any, origin: str) -> Checkpoint:
    """Parse a checkpoint from JSON; `origin` names the source in errors."""
    try:
        if isinstance(raw, str):
            raw = parse(raw)
        found = Checkpoint(**raw)
        whole = isinstance(found.sequence, int) and isinstance(found.count, int)
        if not whole or not all(
            isinstance(part, str)
            for part in (found.log, found.link, found.time, found.key, found.signature)
        ):
            raise TypeError("a field has the wrong type")
        return found
    except (ValueError, TypeError) as problem:
        raise StoreError(
            f"{origin} contains data that is not a valid checkpoint: {problem}.",
            remedy="Use the output of suffice audit checkpoint.",
        ) from problem


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


_SECONDS = 10.0
_SQLITE = b"SQLite format 3\0"


class Place(Protocol):
    """Stores checkpoints and returns the stored ones."""

    def keep(self, point: Checkpoint) -> None: ...

    def kept(self) -> Sequence[Checkpoint]: ...


def place(where: str) -> Place:
    """Parse a destination: an HTTP URL, a store (URL or file), or a JSON lines file."""
    if where.startswith(("http://", "https://")):
        return _Url(where)
    return _Store(where) if "://" in where or _is_store(Path(where)) else _File(Path(where))


def _is_store(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return path.suffix == ".db"


@dataclass(frozen=True, slots=True)
class _File:
    """A file with one checkpoint per line."""

    path: Path

    def keep(self, point: Checkpoint) -> None:
        try:
            with self.path.open("a", encoding="ascii") as file:
                file.write(f"{point.text()}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise StoreError(
                f"Cannot write the checkpoint to {self.path}: {problem.strerror}.",
                remedy="Check record.checkpoint.destinations. The log itself is not affected.",
            ) from problem

    def kept(self) -> Sequence[Checkpoint]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise StoreError(
                f"Cannot read checkpoints from {self.path}: {problem}.",
                remedy="Pass the file, URL or store they were written to.",
            ) from problem
        return [checkpoint_of(line, str(self.path)) for line in text.splitlines() if line.strip()]


@dataclass(frozen=True, slots=True)
class _Url:
    """An HTTP endpoint: POST stores one checkpoint as JSON, GET returns all as a JSON list or as
    JSON lines."""

    url: str

    def keep(self, point: Checkpoint) -> None:
        self._ask("POST", content=point.text(), headers={"content-type": "application/json"})

    def kept(self) -> Sequence[Checkpoint]:
        text = self._ask("GET").strip()
        listed: list[Any] = []
        try:
            listed = json.loads(text) if text.startswith("[") else text.splitlines()
        except ValueError:
            listed = text.splitlines()
        return [checkpoint_of(item, masked(self.url)) for item in listed if item]

    def _ask(self, method: str, **options: Any) -> str:
        import httpx2

        try:
            reply = httpx2.request(method, self.url, timeout=_SECONDS, **options)
            reply.raise_for_status()
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise StoreUnreachable(
                f"The {method} request for checkpoints to {masked(self.url)} failed: {problem}.",
                remedy="Check record.checkpoint.destinations or --checkpoints. "
                "The log is not affected.",
            ) from problem
        return str(reply.text)


@dataclass(frozen=True, slots=True)
class _Store:
    """Another Suffice store, preferably on another machine."""

    where: str

    def keep(self, point: Checkpoint) -> None:
        database = Database.open(self.where, create=True)
        row = {"log": point.log, "sequence": point.sequence, "body": point.text()}
        try:
            with database.writing() as connection:
                connection.execute(insert(CHECKPOINTS).values(row))
        finally:
            database.close()

    def kept(self) -> Sequence[Checkpoint]:
        database = Database.open(self.where)
        try:
            with database.reading() as connection:
                asked = select(CHECKPOINTS.c.body).order_by(CHECKPOINTS.c.id)
                found = connection.scalars(asked).all()
        finally:
            database.close()
        return [checkpoint_of(body, database.where) for body in found]


_KIND = "ed25519:"


def make_key(path: Path) -> str:
    """Write a new private key to `path` and the public key to `path.pub`; return the public key."""
    serialization, ed25519 = _library()
    private = ed25519.Ed25519PrivateKey.generate()
    data = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = public_of(private)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        Path(f"{path}.pub").write_text(f"{public}\n", encoding="ascii")
    except FileExistsError:
        raise StoreError(
            f"{path} already exists. Keys are never overwritten.",
            remedy="Choose another file, or move the existing one.",
        ) from None
    except OSError as problem:
        raise StoreError(
            f"Cannot write {path}: {problem.strerror}.", remedy="Choose another file."
        ) from problem
    return public


def read_key(path: str | Path) -> Ed25519PrivateKey:
    serialization, ed25519 = _library()
    remedy = "Run: suffice audit key --out FILE. Then set record.checkpoint.key_file to FILE."
    try:
        key = serialization.load_pem_private_key(Path(path).read_bytes(), None)
    except OSError as problem:
        raise StoreError(f"Cannot read {path}: {problem.strerror}.", remedy=remedy) from problem
    except (ValueError, TypeError) as problem:
        raise StoreError(f"{path} does not contain a private key.", remedy=remedy) from problem
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise StoreError(f"{path} contains a key that is not Ed25519.", remedy=remedy)
    private: Ed25519PrivateKey = key
    return private


def public_of(key: Ed25519PrivateKey) -> str:
    return f"{_KIND}{encoded(key.public_key().public_bytes_raw())}"


def read_public(path: str | Path) -> str:
    """Read the public key from a `.pub` file; a literal "ed25519:…" is returned unchanged."""
    if str(path).startswith(_KIND):
        return str(path)
    try:
        found = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise StoreError(
            f"Cannot read {path}: {problem}.", remedy="Pass the .pub file of the key."
        ) from problem
    if not found.startswith(_KIND):
        raise StoreError(
            f"{path} does not contain a public key.",
            remedy="Pass the .pub file, not the private key.",
        )
    return found


def sign(point: Checkpoint, key: Ed25519PrivateKey) -> Checkpoint:
    """The checkpoint signed with this key."""
    unsigned = replace(point, key=public_of(key))
    return replace(unsigned, signature=encoded(key.sign(unsigned.signed)))


def genuine(point: Checkpoint) -> bool:
    """Whether the checkpoint's signature is valid for the key it names."""
    _, ed25519 = _library()
    from cryptography.exceptions import InvalidSignature

    try:
        public = ed25519.Ed25519PublicKey.from_public_bytes(decoded(point.key.removeprefix(_KIND)))
        public.verify(decoded(point.signature), point.signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ExtraMissing("Signing or verifying checkpoints", "record") from None
    return serialization, ed25519


_LOG = logging.getLogger("suffice.record")


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs the state of the log and sends it to every configured destination."""

    database: Database
    settings: SignSettings
    clock: Clock

    def due(self, head: Head) -> bool:
        new = head.sequence - head.checkpoint
        if new <= 0:
            return False
        if 0 < self.settings.every_records <= new:
            return True
        if not self.settings.every_minutes:
            return False
        passed = timedelta(minutes=self.settings.every_minutes)
        # A checkpoint from the future was written by a clock that had jumped.
        return not head.checkpoint_time or (
            abs(self.clock() - read_time(head.checkpoint_time)) >= passed
        )

    def write(self, *, always: bool = False) -> Checkpoint | None:
        """Write a checkpoint if one is due. If a destination fails, the checkpoint stays due."""
        key = read_key(self.settings.key_file)
        head = self._claim(always)
        if head is None:
            return None
        now, count = timestamp(self.clock()), head.sequence
        point = sign(Checkpoint(head.log, count, head.link, now, count, key=""), key)
        try:
            for where in self.settings.destinations:
                place(where).keep(point)
        except SufficeError:
            self._give_back(head)
            raise
        return point

    def _claim(self, always: bool) -> Head | None:
        with self.database.writing() as connection:
            head = head_of(connection, hold=True)
            if not head.sequence or not (always or self.due(head)):
                return None
            now = timestamp(self.clock())
            connection.execute(
                update(HEAD)
                .where(HEAD.c.id == 1)
                .values(checkpoint=head.sequence, checkpoint_time=now)
            )
            return head

    def _give_back(self, head: Head) -> None:
        with self.database.writing() as connection:
            connection.execute(
                update(HEAD)
                .where(HEAD.c.id == 1, HEAD.c.checkpoint == head.sequence)
                .values(checkpoint=head.checkpoint, checkpoint_time=head.checkpoint_time)
            )


class Schedule:
    """Writes checkpoints in a background thread, so that answers do not wait for them. Failures are
    logged and retried."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def sealed(self, head: Head) -> None:
        """Called with the state of the log after each commit."""
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
                self._thread.start()
        if self._signer.due(head):
            self._wake.set()

    def close(self) -> None:
        """Write a checkpoint if one is due, and stop the thread."""
        with self._lock:
            self._closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        seconds = self._signer.settings.every_minutes * 60 or None
        while not self._closed:
            self._wake.wait(seconds)
            self._wake.clear()
            self._try()

    def _try(self) -> None:
        try:
            self._signer.write()
        except SufficeError as problem:
            _LOG.warning("Failed to write a checkpoint: %s", problem)
