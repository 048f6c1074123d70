"""Tokens of an OIDC provider, verified with the provider's public keys (JWKS)."""

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

from suffice.access.identity import Identity
from suffice.errors import ExtraMissing, IdentityError
from suffice.settings import TokenSettings

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


_SPACED = ("scope", "scp")
"""Claims whose text lists several names, separated by spaces (RFC 8693)."""
_REMEDY = "Use a token from the configured identity provider."


class Tokens:
    """Verifies the tokens of one provider."""

    def __init__(self, settings: TokenSettings, keys: KeySet | None = None) -> None:
        self._settings = settings
        self._keys = keys or KeySet(settings.jwks, settings.refresh_seconds)

    def read(self, token: str) -> Identity:
        """The user that a token names. Raises if the token is not valid."""
        try:
            claims = self._claims(token)
        except jwt.ExpiredSignatureError:
            raise IdentityError("The token has expired.", remedy="Sign in again.") from None
        except jwt.InvalidAudienceError:
            raise IdentityError("The token is for another audience.", remedy=_REMEDY) from None
        except jwt.InvalidIssuerError:
            raise IdentityError("The token is from another issuer.", remedy=_REMEDY) from None
        except jwt.PyJWTError as problem:
            raise IdentityError(f"The token is not valid: {problem}.", remedy=_REMEDY) from None
        settings = self._settings
        name = _claim(claims, settings.user_claim)
        if not isinstance(name, str) or not name.strip():
            raise IdentityError(
                f"The token names no user: it has no claim '{settings.user_claim}'.",
                remedy="Set server.identity.jwt.user_claim to a claim that the tokens have.",
            )
        groups = _claim(claims, settings.groups_claim)
        return Identity(name, frozenset(_names(settings.groups_claim, groups)))

    def _claims(self, token: str) -> dict[str, Any]:
        settings = self._settings
        head = jwt.get_unverified_header(token)
        key = None
        if head.get("alg") in settings.algorithms:
            key = self._keys.key(head.get("kid"))
        # The settings and the key determine the algorithm, never the token.
        if key is None or key.algorithm not in ("", head["alg"]):
            raise IdentityError(
                f"The token's signature algorithm {str(head.get('alg'))[:20]!r} is not accepted.",
                remedy=f"Accepted: {key.algorithm if key else ', '.join(settings.algorithms)}.",
            )
        claims: dict[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=list(settings.algorithms),
            audience=list(settings.audiences),
            issuer=settings.issuer,
            leeway=settings.leeway_seconds,
            options={"require": ["exp", "iss", "aud"]},
        )
        return claims


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """A claim by its name or dotted path."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _names(claim: str, value: Any) -> list[str]:
    """The groups in a claim, which is a list or a single name; anything else yields none."""
    if isinstance(value, str):
        return value.split() if claim in _SPACED else [value]
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
