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
from suffice.log.follower import Cursor, move_cursor, read_cursor
from suffice.log.tables import CHECKPOINTS
from suffice.log.writer import Head, head_of
from suffice.settings import SignSettings
from suffice.sql import sa
from suffice.sql.backend import masked
from suffice.sql.database import Database

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
        checkpoint = Checkpoint(**raw)
        numbers = isinstance(checkpoint.sequence, int) and isinstance(checkpoint.count, int)
        texts = (
            checkpoint.log,
            checkpoint.link,
            checkpoint.time,
            checkpoint.key,
            checkpoint.signature,
        )
        if not numbers or not all(isinstance(part, str) for part in texts):
            raise TypeError("a field has the wrong type")
        return checkpoint
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


class Destination(Protocol):
    """Stores checkpoints and returns the stored ones."""

    def save(self, checkpoint: Checkpoint) -> None: ...

    def load(self) -> Sequence[Checkpoint]: ...


def destination(address: str) -> Destination:
    """Parse the address of a destination: an HTTP URL, a store (URL or file), or a JSON lines
    file."""
    if address.startswith(("http://", "https://")):
        return _Url(address)
    is_store = "://" in address or _is_store(Path(address))
    return _Store(address) if is_store else _File(Path(address))


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

    def save(self, checkpoint: Checkpoint) -> None:
        try:
            with self.path.open("a", encoding="ascii") as file:
                file.write(f"{checkpoint.text()}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise StoreError(
                f"Cannot write the checkpoint to {self.path}: {problem.strerror}.",
                remedy="Check record.checkpoint.destinations. The log itself is not affected.",
            ) from problem

    def load(self) -> Sequence[Checkpoint]:
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

    def save(self, checkpoint: Checkpoint) -> None:
        self._request(
            "POST", content=checkpoint.text(), headers={"content-type": "application/json"}
        )

    def load(self) -> Sequence[Checkpoint]:
        text = self._request("GET").strip()
        items: list[Any] = []
        try:
            items = json.loads(text) if text.startswith("[") else text.splitlines()
        except ValueError:
            items = text.splitlines()
        return [checkpoint_of(item, masked(self.url)) for item in items if item]

    def _request(self, method: str, **options: Any) -> str:
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

    def save(self, checkpoint: Checkpoint) -> None:
        database = Database.open(self.where, create=True)
        row = {"log": checkpoint.log, "sequence": checkpoint.sequence, "body": checkpoint.text()}
        try:
            with database.writing() as connection:
                connection.execute(sa.insert(CHECKPOINTS).values(row))
        finally:
            database.close()

    def load(self) -> Sequence[Checkpoint]:
        database = Database.open(self.where)
        try:
            with database.reading() as connection:
                query = sa.select(CHECKPOINTS.c.body).order_by(CHECKPOINTS.c.id)
                bodies = connection.scalars(query).all()
        finally:
            database.close()
        return [checkpoint_of(body, database.where) for body in bodies]


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
        key = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise StoreError(
            f"Cannot read {path}: {problem}.", remedy="Pass the .pub file of the key."
        ) from problem
    if not key.startswith(_KIND):
        raise StoreError(
            f"{path} does not contain a public key.",
            remedy="Pass the .pub file, not the private key.",
        )
    return key


def sign(checkpoint: Checkpoint, key: Ed25519PrivateKey) -> Checkpoint:
    """The checkpoint signed with this key."""
    unsigned = replace(checkpoint, key=public_of(key))
    return replace(unsigned, signature=encoded(key.sign(unsigned.signed)))


def genuine(checkpoint: Checkpoint) -> bool:
    """Whether the checkpoint's signature is valid for the key it names."""
    _, ed25519 = _library()
    from cryptography.exceptions import InvalidSignature

    try:
        public = ed25519.Ed25519PublicKey.from_public_bytes(
            decoded(checkpoint.key.removeprefix(_KIND))
        )
        public.verify(decoded(checkpoint.signature), checkpoint.signed)
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
CURSOR = "checkpoints"
"""The cursor of the records that a checkpoint covers."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs the state of the log and sends it to every configured destination."""

    database: Database
    settings: SignSettings
    clock: Clock

    def due(self, head: Head, last: Cursor) -> bool:
        """Whether a log with this head needs a checkpoint; `last` is the newest checkpoint."""
        new = head.sequence - last.sequence
        if new <= 0:
            return False
        if 0 < self.settings.every_records <= new:
            return True
        if not self.settings.every_minutes:
            return False
        interval = timedelta(minutes=self.settings.every_minutes)
        # A checkpoint from the future was written by a clock that had jumped.
        return not last.state or abs(self.clock() - read_time(last.state)) >= interval

    def last(self) -> Cursor:
        """The last record that a checkpoint covers; the state of the cursor is the time."""
        with self.database.reading() as connection:
            return read_cursor(connection, CURSOR)

    def write(self, *, always: bool = False) -> Checkpoint | None:
        """Write a checkpoint if one is due. If a destination fails, the checkpoint stays due."""
        key = read_key(self.settings.key_file)
        while True:
            with self.database.reading() as connection:
                head, last = head_of(connection), read_cursor(connection, CURSOR)
            if not head.sequence or not (always or self.due(head, last)):
                return None
            # The cursor moves first, so that two processes do not write the same checkpoint.
            claimed = Cursor(head.sequence, timestamp(self.clock()))
            if move_cursor(self.database, CURSOR, last, claimed):
                break
        now, count = timestamp(self.clock()), head.sequence
        checkpoint = sign(Checkpoint(head.log, count, head.link, now, count, key=""), key)
        try:
            for address in self.settings.destinations:
                destination(address).save(checkpoint)
        except SufficeError:
            move_cursor(self.database, CURSOR, claimed, last)
            raise
        return checkpoint


class Schedule:
    """Writes checkpoints in a background thread, so that answers do not wait for them. Failures are
    logged and retried."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._last = Cursor()
        """The newest checkpoint that this process knows of."""

    def on_commit(self, head: Head) -> None:
        """Called with the state of the log after each commit."""
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
                self._thread.start()
        if self._signer.due(head, self._last):
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
            self._last = self._signer.last()
        except SufficeError as problem:
            _LOG.warning("Failed to write a checkpoint: %s", problem)
