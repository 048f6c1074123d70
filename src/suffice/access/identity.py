"""End-user identity: the person named in a request, and what the key may read on their behalf.

A forwarded identity only narrows a key: the key keeps the labels that the person's groups also
grant.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import httpx2

from suffice.access.keys import ALL, Principal, Role, checked_roles
from suffice.errors import ExtraMissing, IdentityError, PrincipalError, SettingsError
from suffice.log.masking import Masks
from suffice.settings import IdentitySettings, Settings, TokenSettings

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


USER, GROUPS = "X-Suffice-User", "X-Suffice-Groups"
TIMESTAMP, SIGNATURE = "X-Suffice-Timestamp", "X-Suffice-Signature"
HEADERS = (USER, GROUPS, TIMESTAMP, SIGNATURE)
_VERSION = "v1"
_SAFE = "@.+ -_:/="
_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)
_HOW = "See docs/how-to/identity.md for how to sign them."


@dataclass(frozen=True, slots=True)
class EndUser:
    """A person on whose behalf a key is used, and the person's groups."""

    name: str
    groups: frozenset[str] = frozenset()


def signed_headers(
    user: str, groups: Iterable[str], secret: str, moment: float | None = None
) -> dict[str, str]:
    """The signed headers that name a user. `moment` is the time of signing, by default now."""
    name = quote(user, safe=_SAFE)
    listed = ",".join(quote(group, safe=_SAFE) for group in groups)
    seconds = str(int(time.time() if moment is None else moment))
    proof = _signature(secret.encode(), seconds, name, listed)
    return {USER: name, GROUPS: listed, TIMESTAMP: seconds, SIGNATURE: f"{_VERSION}={proof}"}


@dataclass(frozen=True, slots=True)
class SignedHeaders:
    """Reads and verifies signed headers. Any of the `secrets` may have signed them."""

    secrets: Sequence[bytes]
    window: float
    clock: Callable[[], float] = time.time

    def read(self, headers: Mapping[str, str]) -> EndUser:
        """The user that the headers name. Raises if they are incomplete, stale or forged."""
        for name in (USER, TIMESTAMP, SIGNATURE):
            if not headers.get(name):
                raise IdentityError(
                    f"The forwarded user is not signed: the header {name} is missing.", remedy=_HOW
                )
        user, groups, seconds = headers[USER], headers.get(GROUPS, ""), headers[TIMESTAMP]
        self._authentic(headers[SIGNATURE], seconds, user, groups)
        self._fresh(seconds)
        return EndUser(unquote(user), frozenset(_listed(groups)))

    def _authentic(self, signature: str, seconds: str, user: str, groups: str) -> None:
        version, _, proof = signature.partition("=")
        if version != _VERSION or not proof.isascii():
            raise IdentityError(
                f"The header {SIGNATURE} must be '{_VERSION}=' followed by 64 hex digits.",
                remedy=_HOW,
            )
        known = [_signature(secret, seconds, user, groups) for secret in self.secrets]
        if not any(hmac.compare_digest(one, proof.lower()) for one in known):
            raise IdentityError(
                "The signature does not match the forwarded user, groups and timestamp.",
                remedy=f"Sign the values as they are sent, with the shared secret. {_HOW}",
            )

    def _fresh(self, seconds: str) -> None:
        if not _SECONDS.fullmatch(seconds):
            raise IdentityError(
                f"The header {TIMESTAMP} must be a number of seconds since 1970.", remedy=_HOW
            )
        age = self.clock() - int(seconds)
        if abs(age) > self.window:
            when = f"{age:,.0f} seconds old" if age > 0 else f"{-age:,.0f} seconds in the future"
            raise IdentityError(
                f"The signature is {when}; the limit is {self.window:g} seconds.",
                remedy="Sign each request anew, and check the clocks of both machines.",
            )


def _signature(secret: bytes, seconds: str, user: str, groups: str) -> str:
    # Header values contain no line breaks, so the parts are unambiguous.
    text = "\n".join((_VERSION, seconds, user, groups))
    return hmac.new(secret, text.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()


def _listed(groups: str) -> list[str]:
    return [name for part in groups.split(",") if (name := unquote(part.strip()))]


HeaderValues = Callable[[str], Sequence[str]]
"""Returns all values of a header; its name is case-insensitive."""
_SHORTEST = 32
_LONGEST = 256
_AUTHORIZATION = "Authorization"
KEY_PREFIX = "sk-suffice-"


@dataclass(frozen=True, slots=True)
class Identities:
    """Finds the person that a request names, and limits the caller's rights to that person's."""

    settings: IdentitySettings
    headers: SignedHeaders | None = None
    token: Callable[[str], EndUser] | None = None
    shown: Callable[[str], str] = str
    """How records and logs name a person."""

    @classmethod
    def of(cls, settings: Settings, environ: Mapping[str, str] | None = None) -> Identities:
        """Set up the configured identity methods; raise if a secret is missing."""
        environ = os.environ if environ is None else environ
        own = settings.server.identity
        headers = None
        if own.headers.secret_env:
            name = own.headers.secret_env
            secrets = _secrets(environ, name, "server.identity.headers.secret_env")
            headers = SignedHeaders(secrets, own.headers.window_seconds)
        for group, named in own.roles.items():
            _check_roles(group, named)
        token = _tokens(own.jwt) if own.jwt.jwks else None
        return cls(own, headers, token, _shown(settings, environ))

    @property
    def may_wait(self) -> bool:
        """Whether `narrowed` may have to fetch the keys of an identity provider."""
        return self.token is not None

    def narrowed(self, caller: Principal, values: HeaderValues) -> Principal:
        """The caller, limited to what both the key and the person named in the request may read.
        If the request names no person and none is required, the caller is unchanged."""
        user = self._named(values)
        if user is None:
            self._may_be_nobody(caller)
            return caller
        if not user.name.strip() or len(user.name) > _LONGEST or not user.name.isprintable():
            raise IdentityError(
                "The forwarded user is not a valid name.",
                remedy=f"Send 1 to {_LONGEST} printable characters.",
            )
        labels = caller.labels & self._labels(user.groups)
        roles = self._roles(caller, user.groups) if self.settings.roles else caller.roles
        return replace(caller, user=self.shown(user.name), labels=labels, roles=roles)

    def _named(self, values: HeaderValues) -> EndUser | None:
        signed = {name: found for name in HEADERS if (found := _one(name, values)) is not None}
        token = self._token_in(values)
        if signed and token:
            raise IdentityError(
                "The request names its user twice: by signed headers and by a token.",
                remedy="Send one of them.",
            )
        if signed:
            if self.headers is None:
                raise _not_set_up("signed user headers", "server.identity.headers.secret_env")
            return self.headers.read(signed)
        if token:
            if self.token is None:
                raise _not_set_up("user tokens", "server.identity.jwt")
            return self.token(token)
        return None

    def _token_in(self, values: HeaderValues) -> str:
        """The token in its own header; if the key is in `X-API-Key`, also a bearer token."""
        own = _bearer(_one(self.settings.jwt.header, values) or "")
        if own or self.token is None:
            return "" if own.startswith(KEY_PREFIX) else own
        bearer = _bearer(_one(_AUTHORIZATION, values) or "")
        # A JWT has three parts; clients without a key put made-up names in this header.
        return bearer if bearer.count(".") == 2 and not bearer.startswith(KEY_PREFIX) else ""

    def _may_be_nobody(self, caller: Principal) -> None:
        needed = {ALL, caller.name}.intersection(self.settings.required_for)
        if self.settings.enabled and needed:
            ways = []
            if self.headers is not None:
                ways.append(f"signed headers ({', '.join(HEADERS)})")
            if self.token is not None:
                ways.append(f"a token in {self.settings.jwt.header}")
            raise IdentityError(
                "The request must name the end user.",
                remedy=f"Send {' or '.join(ways)}.",
            )

    def _labels(self, groups: frozenset[str]) -> frozenset[str]:
        return _mapped(self.settings.labels, groups)

    def _roles(self, caller: Principal, groups: frozenset[str]) -> frozenset[Role]:
        named = map(Role, _mapped(self.settings.roles, groups))
        return frozenset(role for role in named if caller.has(role))


def _mapped(names: Mapping[str, Sequence[str]], groups: frozenset[str]) -> frozenset[str]:
    return frozenset(name for group in (ALL, *groups) for name in names.get(group, ()))


def _check_roles(group: str, named: Sequence[str]) -> None:
    """Report a wrong name before the first request."""
    key = f"server.identity.roles.{group}"
    try:
        if not checked_roles(named):
            allowed = ", ".join(role.value for role in Role)
            raise SettingsError(
                f"{key} names no role.", remedy=f"Name one of {allowed}, or remove the group."
            )
    except PrincipalError as problem:
        raise SettingsError(f"{key}: {problem.message}", remedy=problem.remedy) from None


def _one(name: str, values: HeaderValues) -> str | None:
    found = values(name)
    if len(found) > 1:  # proxies disagree about which value counts
        raise IdentityError(f"The header {name} is sent more than once.", remedy="Send it once.")
    return found[0] if found else None


def _bearer(value: str) -> str:
    kind, _, rest = value.strip().partition(" ")
    return rest.strip() if kind.lower() == "bearer" else value.strip()


def _not_set_up(what: str, key: str) -> IdentityError:
    # Ignoring an identity would give the person all rights of the key.
    return IdentityError(f"This gateway does not accept {what}.", remedy=f"Set {key}.")


def _tokens(settings: TokenSettings) -> Callable[[str], EndUser]:
    pass  # needs an extra

    return Tokens(settings).read


def _secrets(environ: Mapping[str, str], name: str, key: str) -> list[bytes]:
    found = environ.get(name, "").split()
    if not found:
        raise SettingsError(
            f"{key} names the environment variable {name}, which is not set.",
            remedy=f"Set {name} to a secret of at least {_SHORTEST} characters.",
        )
    if min(map(len, found)) < _SHORTEST:
        raise SettingsError(
            f"A secret in {name} is too short. Spaces separate secrets.",
            remedy=f"Use at least {_SHORTEST} characters, for example: openssl rand -hex 32",
        )
    return [secret.encode() for secret in found]


def _shown(settings: Settings, environ: Mapping[str, str]) -> Callable[[str], str]:
    own = settings.server.identity
    if own.record_user == "plain":
        return str
    if own.record_user == "masked":
        masks = Masks.of(settings.record)
        return lambda name: masks.text(name, Counter())
    if not own.pseudonym_key_env:
        raise SettingsError(
            "server.identity.record_user is 'pseudonym', which needs a key.",
            remedy="Name its environment variable in server.identity.pseudonym_key_env.",
        )
    key = _secrets(environ, own.pseudonym_key_env, "server.identity.pseudonym_key_env")[0]
    return lambda name: f"user-{hmac.new(key, name.encode(), hashlib.sha256).hexdigest()[:24]}"


try:
    import jwt
except ImportError as problem:
    raise ExtraMissing("Identity by JWT", "oidc") from problem

_SPACED = ("scope", "scp")
"""Claims whose text lists several names, separated by spaces (RFC 8693)."""
_REMEDY = "Use a token from the configured identity provider."


class Tokens:
    """Verifies the tokens of one provider."""

    def __init__(self, settings: TokenSettings, keys: KeySet | None = None) -> None:
        self._settings = settings
        self._keys = keys or KeySet(settings.jwks, settings.refresh_seconds)

    def read(self, token: str) -> EndUser:
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
        return EndUser(name, frozenset(_names(settings.groups_claim, groups)))

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
