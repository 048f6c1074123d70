"""The public keys of an identity provider (JWKS), from a file or a URL, cached and refreshed.

A file is read again when it changes. A URL is read again after `refresh` seconds, or when a token
names an unknown key, but not more often than every `_PAUSE` seconds, so that forged tokens cannot
make the gateway call the provider. If a read fails, the known keys stay in use for `_OLDEST`.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from suffice.errors import ExtraMissing, IdentityError

try:
    import jwt
    from jwt import PyJWK
except ImportError as problem:
    raise ExtraMissing("Identity by JWT", "oidc") from problem

log = logging.getLogger("suffice.access")
_PAUSE = 30.0
_OLDEST = 86_400.0
_TIMEOUT = 5.0
_LARGEST = 1_000_000
_SYMMETRIC = "oct"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public signature key. `algorithm` is empty if the key set does not name it."""

    key: Any
    algorithm: str = ""


@dataclass(frozen=True, slots=True)
class _Known:
    keys: Mapping[str, PublicKey]
    read: float
    stamp: object = None


class KeySet:
    """The keys of one provider. Thread-safe: while one thread reads the keys, the others use the
    known ones."""

    def __init__(
        self, source: str, refresh: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._source = source
        self._is_url = source.startswith(("http://", "https://"))
        self._refresh = refresh
        self._clock = clock
        self._lock = threading.Lock()
        self._known: _Known | None = None
        self._tried = float("-inf")

    def key(self, id: str | None) -> PublicKey:
        """The key with this id. A token without a key id is valid only for a set of one key."""
        known = self._current(id)
        if id is None and len(known.keys) == 1:
            return next(iter(known.keys.values()))
        if id is None or id not in known.keys:
            named = (
                "has no key id" if id is None else f"was signed with the unknown key {id[:80]!r}"
            )
            raise IdentityError(
                f"The token {named}.", remedy="Use a token from the configured identity provider."
            )
        return known.keys[id]

    def _current(self, id: str | None) -> _Known:
        known = self._known
        if known is not None and not self._stale(known, id):
            return known
        # Other threads wait only for the first read: before it, there are no keys to check with.
        if self._lock.acquire(blocking=known is None):
            try:
                self._read(id)
            finally:
                self._lock.release()
        known = self._known
        if known is None or (self._is_url and self._clock() - known.read > _OLDEST):
            raise IdentityError(
                "The token cannot be checked: the public keys of the identity provider could not "
                "be read.",
                remedy="Try again later. The reason is in the gateway's log.",
                unavailable=True,
            )
        return known

    def _stale(self, known: _Known, id: str | None) -> bool:
        if not self._is_url:
            return known.stamp != self._stamp()
        unknown = id is not None and id not in known.keys
        return unknown or self._clock() - known.read > self._refresh

    def _stamp(self) -> object:
        try:
            found = Path(self._source).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self, id: str | None) -> None:
        """Read the keys, unless another thread just did or the last attempt was moments ago."""
        now = self._clock()
        fresh = self._known is not None and not self._stale(self._known, id)
        if fresh or (self._is_url and now - self._tried < _PAUSE):
            return
        self._tried = now
        stamp = None if self._is_url else self._stamp()
        try:
            text = self._fetched() if self._is_url else Path(self._source).read_bytes()
            self._known = _Known(_keys(text), now, stamp)
        except (OSError, httpx2.HTTPError, ValueError, jwt.PyJWTError) as problem:
            log.warning("The JWKS could not be read from %s: %s", self._source, problem)

    def _fetched(self) -> bytes:
        # Redirects are not followed: only the configured address is called.
        with (
            httpx2.Client(timeout=_TIMEOUT, follow_redirects=False) as client,
            client.stream("GET", self._source) as reply,
        ):
            if reply.status_code != 200:
                raise ValueError(f"status {reply.status_code}")
            body = b""
            for part in reply.iter_bytes():
                body += part
                if len(body) > _LARGEST:
                    raise ValueError(f"more than {_LARGEST:,} bytes")
        return body


def _keys(text: bytes) -> dict[str, PublicKey]:
    """The signature keys by id. Shared secrets, encryption keys and unknown key types are
    skipped."""
    tree = json.loads(text)
    listed = tree.get("keys") if isinstance(tree, dict) else None
    if not isinstance(listed, list):
        raise ValueError("it has no list 'keys'")
    found: dict[str, PublicKey] = {}
    for number, entry in enumerate(listed):
        if isinstance(entry, dict) and (key := _key(entry)):
            found[str(entry.get("kid") or f"without an id, {number}")] = key
    if not found:
        raise ValueError("it has no public key for signatures")
    return found


def _key(entry: dict[str, Any]) -> PublicKey | None:
    if entry.get("kty") == _SYMMETRIC or entry.get("use", "sig") != "sig":
        return None
    try:
        return PublicKey(PyJWK(entry).key, str(entry.get("alg") or ""))
    except jwt.PyJWTError:
        return None
