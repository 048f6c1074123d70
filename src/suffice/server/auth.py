"""Authenticate requests: the API key, and the user on whose behalf it is used."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute, Mount, Route

from suffice.access.identity import KEY_PREFIX, Identities
from suffice.access.keys import ANYONE_NAME, Principal, Principals, Role
from suffice.errors import IdentityError
from suffice.server.errors import ApiError

ANYONE = Principal("", ANYONE_NAME)
"""The caller without a key on an open gateway. It sees only public documents, and only the limits
in the settings apply to it."""
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
_UNKNOWN = "Invalid API key: it is unknown or was revoked."
_EXPIRED = "This API key expired on {}. Ask the operator for a new one."
_NO_KEY = "Missing API key. Send it as 'Authorization: Bearer sk-suffice-…' or 'x-api-key'."
_PROXIED = (
    "This request came through a proxy (it has forwarded headers), but the gateway requires no "
    "keys, so anyone could use it. Create keys with `suffice keys create NAME` and set "
    "`server.keys: required`, or set `server.keyless_forwarded: true` if the proxy authenticates "
    "callers."
)
_FORWARDED = frozenset({"forwarded", "x-real-ip"})
_FORWARDED_PREFIX = "x-forwarded-"
_LONGEST_ADDRESS = 100
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(?::\d{0,5})?", re.ASCII)


def is_local(host: str) -> bool:
    """Whether this is a loopback address."""
    return host.strip("[]") in _LOCAL


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authenticates callers by API key. If `open`, callers without a key are accepted too; this is
    for gateways on a loopback address. `identities` identifies the user behind a key."""

    principals: Principals
    open: bool = False
    forwarded: bool = False
    """Accept callers without a key from a reverse proxy."""
    identities: Identities | None = None

    def enter(self, secret: str, host: str, proxied: bool = False) -> Principal:
        """Return the owner of the key. Hashes are compared in constant time (see `Principals`)."""
        if secret.isascii() and (found := self.principals.lookup(secret)):
            if self.principals.expired(found):
                raise ApiError(401, _EXPIRED.format(found.expires[:10]), "expired_api_key")
            return found
        if not self.open or secret.startswith(KEY_PREFIX):
            raise ApiError(401, _UNKNOWN if secret else _NO_KEY, "invalid_api_key")
        # Prevent DNS rebinding: a web page can point its own host name at this machine.
        if not is_local(_host_name(host)):
            raise ApiError(
                403, f"Without a key, only requests to a local host are accepted, not to '{host}'."
            )
        # Behind a reverse proxy on this machine, every caller looks local.
        if proxied and not self.forwarded:
            raise ApiError(403, _PROXIED, "key_required")
        return ANYONE

    def identify(self, caller: Principal, headers: Headers) -> Principal:
        """The caller, restricted to the rights of the user named in the request."""
        if self.identities is None:
            return caller
        try:
            return self.identities.narrowed(caller, headers.getlist)
        except IdentityError as problem:
            if problem.unavailable:
                raise ApiError(503, str(problem), "identity_unavailable") from None
            raise ApiError(401, str(problem), "invalid_identity") from None


def is_proxied(headers: Headers) -> bool:
    """Whether the request came through a proxy."""
    return any(name in _FORWARDED or name.startswith(_FORWARDED_PREFIX) for name in headers)


def address_of(request: HTTPConnection, behind_proxy: bool) -> str:
    """The client address; behind a trusted proxy, the address that the proxy added."""
    forwarded = request.headers.getlist("x-forwarded-for") if behind_proxy else []
    named = ",".join(forwarded).rpartition(",")[2].strip()
    direct = request.client.host if request.client else ""
    return (named or direct)[:_LONGEST_ADDRESS]


async def entered(authenticator: Authenticator, headers: Headers) -> Principal:
    """Authenticate a request by its key. The store is queried only if a key was sent."""
    secret, host = secret_in(headers), headers.get("host", "")
    proxied = is_proxied(headers)
    if secret.startswith(KEY_PREFIX):
        return await asyncio.to_thread(authenticator.enter, secret, host, proxied)
    return authenticator.enter(secret, host, proxied)


async def identified(authenticator: Authenticator, headers: Headers) -> Principal:
    """Authenticate a request by its key and by the user it names."""
    caller = await entered(authenticator, headers)
    if not authenticator.identities or not authenticator.identities.may_wait:
        return authenticator.identify(caller, headers)
    # Verify the token in a thread: the identity provider's keys may have to be fetched first.
    return await asyncio.to_thread(authenticator.identify, caller, headers)


def secret_in(headers: Headers) -> str:
    """The API key: the bearer token or the `X-API-Key` header. Clients that send a user token in
    `Authorization` use the latter, and so do Anthropic's clients."""
    kind, _, secret = headers.get("authorization", "").partition(" ")
    bearer = secret.strip() if kind.lower() == "bearer" else ""
    return bearer if bearer.startswith(KEY_PREFIX) else headers.get("x-api-key", "") or bearer


def _host_name(host: str) -> str:
    """The host name in a Host header, without the port; empty if the header is malformed."""
    found = _HOST.fullmatch(host.lower())
    return found[1].removesuffix(".") if found else ""


E = TypeVar("E", bound=Callable[..., Any])
_ROLES = "needed_roles"


def needs(*roles: Role) -> Callable[[E], E]:
    """Declare that an endpoint is for callers with any of the roles."""

    def declared(endpoint: E) -> E:
        setattr(endpoint, _ROLES, roles)
        return endpoint

    return declared


def needs_no_role(endpoint: E) -> E:
    """Declare that anyone may call an endpoint, with or without a key."""
    return needs()(endpoint)


def check_role(caller: Principal, roles: Iterable[Role]) -> None:
    """Raise 403 unless the caller has one of the roles."""
    names = [role.value for role in roles]
    if any(caller.has(Role(name)) for name in names):
        return
    needed = " or ".join(f"'{name}'" for name in names)
    if caller.user:
        remedy = "This user has it if the key does and server.identity.roles gives it to a group."
    else:
        remedy = f"To create one, run: suffice keys create NAME --role {names[0]}"
    raise ApiError(403, f"This needs a key with the role {needed}. {remedy}", "no_right")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint of an app. `roles` is empty if it needs none, and `None` if it declares none."""

    method: str
    path: str
    roles: tuple[Role, ...] | None

    def allows(self, role: Role) -> bool:
        """Whether a caller that has this role alone may use the endpoint."""
        caller = Principal("", "", frozenset({role}))
        return self.roles is not None and (
            not self.roles or any(caller.has(needed) for needed in self.roles)
        )


def endpoints(routes: Iterable[BaseRoute], above: str = "") -> Iterator[Endpoint]:
    """All endpoints of an app, in the order of its routes."""
    for route in routes:
        path = above + getattr(route, "path", "")
        if isinstance(route, Mount):
            yield from endpoints(route.routes, path)
        elif isinstance(route, Route):
            for method in sorted((route.methods or {"GET"}) - {"HEAD"}):
                yield Endpoint(method, path, getattr(route.endpoint, _ROLES, None))
        else:
            yield Endpoint("", path, None)
