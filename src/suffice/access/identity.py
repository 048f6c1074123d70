"""End-user identity: the person named in a request, and what the key may read on their behalf.

A forwarded identity only narrows a key: the key keeps the labels that the person's groups also
grant.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from suffice.access.keys import ALL, Principal, Role, checked_roles
from suffice.errors import IdentityError, PrincipalError, SettingsError
from suffice.log.masking import Masks
from suffice.settings import IdentitySettings, Settings, TokenSettings

USER, GROUPS = "X-Suffice-User", "X-Suffice-Groups"
TIMESTAMP, SIGNATURE = "X-Suffice-Timestamp", "X-Suffice-Signature"
HEADERS = (USER, GROUPS, TIMESTAMP, SIGNATURE)
_VERSION = "v1"
_SAFE = "@.+ -_:/="
_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)
_HOW = "See docs/how-to/identity.md for how to sign them."


@dataclass(frozen=True, slots=True)
class Identity:
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

    def read(self, headers: Mapping[str, str]) -> Identity:
        """The user that the headers name. Raises if they are incomplete, stale or forged."""
        for name in (USER, TIMESTAMP, SIGNATURE):
            if not headers.get(name):
                raise IdentityError(
                    f"The forwarded user is not signed: the header {name} is missing.", remedy=_HOW
                )
        user, groups, seconds = headers[USER], headers.get(GROUPS, ""), headers[TIMESTAMP]
        self._authentic(headers[SIGNATURE], seconds, user, groups)
        self._fresh(seconds)
        return Identity(unquote(user), frozenset(_listed(groups)))

    def _authentic(self, signature: str, seconds: str, user: str, groups: str) -> None:
        version, _, proof = signature.partition("=")
        if version != _VERSION or not proof.isascii():
            raise IdentityError(
                f"The header {SIGNATURE} must be '{_VERSION}=' followed by 64 hex digits.",
                remedy=_HOW,
            )
        expected = [_signature(secret, seconds, user, groups) for secret in self.secrets]
        if not any(hmac.compare_digest(valid, proof.lower()) for valid in expected):
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
    token: Callable[[str], Identity] | None = None
    shown: Callable[[str], str] = str
    """How records and logs name a person."""

    @classmethod
    def of(cls, settings: Settings, environ: Mapping[str, str] | None = None) -> Identities:
        """Set up the configured identity methods; raise if a secret is missing."""
        environ = os.environ if environ is None else environ
        identity = settings.server.identity
        headers = None
        if identity.headers.secret_env:
            name = identity.headers.secret_env
            secrets = _secrets(environ, name, "server.identity.headers.secret_env")
            headers = SignedHeaders(secrets, identity.headers.window_seconds)
        for group, named in identity.roles.items():
            _check_roles(group, named)
        token = _tokens(identity.jwt) if identity.jwt.jwks else None
        return cls(identity, headers, token, _shown(settings, environ))

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

    def _named(self, values: HeaderValues) -> Identity | None:
        signed = {name: value for name in HEADERS if (value := _single(name, values)) is not None}
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
        token = _bearer(_single(self.settings.jwt.header, values) or "")
        if token or self.token is None:
            return "" if token.startswith(KEY_PREFIX) else token
        bearer = _bearer(_single(_AUTHORIZATION, values) or "")
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


def _single(name: str, values: HeaderValues) -> str | None:
    sent = values(name)
    if len(sent) > 1:  # proxies disagree about which value counts
        raise IdentityError(f"The header {name} is sent more than once.", remedy="Send it once.")
    return sent[0] if sent else None


def _bearer(value: str) -> str:
    kind, _, rest = value.strip().partition(" ")
    return rest.strip() if kind.lower() == "bearer" else value.strip()


def _not_set_up(what: str, key: str) -> IdentityError:
    # Ignoring an identity would give the person all rights of the key.
    return IdentityError(f"This gateway does not accept {what}.", remedy=f"Set {key}.")


def _tokens(settings: TokenSettings) -> Callable[[str], Identity]:
    from suffice.access.tokens import Tokens  # needs the extra `oidc`

    return Tokens(settings).read


def _secrets(environ: Mapping[str, str], name: str, key: str) -> list[bytes]:
    secrets = environ.get(name, "").split()
    if not secrets:
        raise SettingsError(
            f"{key} names the environment variable {name}, which is not set.",
            remedy=f"Set {name} to a secret of at least {_SHORTEST} characters.",
        )
    if min(map(len, secrets)) < _SHORTEST:
        raise SettingsError(
            f"A secret in {name} is too short. Spaces separate secrets.",
            remedy=f"Use at least {_SHORTEST} characters, for example: openssl rand -hex 32",
        )
    return [secret.encode() for secret in secrets]


def _shown(settings: Settings, environ: Mapping[str, str]) -> Callable[[str], str]:
    identity = settings.server.identity
    if identity.record_user == "plain":
        return str
    if identity.record_user == "masked":
        masks = Masks.of(settings.record)
        return lambda name: masks.text(name, Counter())
    if not identity.pseudonym_key_env:
        raise SettingsError(
            "server.identity.record_user is 'pseudonym', which needs a key.",
            remedy="Name its environment variable in server.identity.pseudonym_key_env.",
        )
    key = _secrets(environ, identity.pseudonym_key_env, "server.identity.pseudonym_key_env")[0]
    return lambda name: f"user-{hmac.new(key, name.encode(), hashlib.sha256).hexdigest()[:24]}"
