"""Who visits a page: a person who signed in, one whom a proxy names, or the local user.

In this order: a key in the headers (a reverse proxy sends it, with the identity of the person),
a session of somebody who signed in, and on a gateway that requires no keys the local user.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response

from suffice.access.identity import KEY_PREFIX
from suffice.access.keys import KIND, Principal, Role
from suffice.access.rights import LOCAL_NAME
from suffice.access.visibility import Reader
from suffice.server.auth import ANYONE, identified, is_proxied, secret_in
from suffice.server.errors import ApiError
from suffice.server.ui import security
from suffice.server.ui.page_error import PageError
from suffice.server.ui.site import Site

LOCAL = Principal("", LOCAL_NAME, frozenset({Role.ADMIN}))
"""The person at a gateway that requires no keys and accepts local connections only. Reads public
documents, as callers without a key do."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who is signed in. `name` is shown, and recorded as the one who decides; `reader` is what the
    person may see."""

    principal: Principal
    name: str
    reader: Reader

    @classmethod
    def of(cls, principal: Principal) -> Person:
        return cls(principal, principal.user or principal.name, Reader.of(principal))

    def has(self, role: Role | str) -> bool:
        return self.principal.has(Role(role))


@dataclass(frozen=True, slots=True)
class Visit:
    """One request and its person; `secret` is the cookie that the CSRF token is made from."""

    request: Request
    person: Person | None
    secret: str
    secure: bool
    fresh: bool = False
    """Whether the cookie has to be set."""
    session: str = ""
    """The token of the session; empty without one."""

    @classmethod
    def new(cls, request: Request, site: Site) -> Visit:
        """A visit of nobody yet."""
        behind_proxy = site.gateway.state.settings.server.site.behind_proxy
        known = security.cookie(request, security.VISITOR)
        secret = known or security.new_secret()
        secure = security.encrypted(request, behind_proxy)
        return cls(request, None, secret, secure, fresh=not known)

    @property
    def csrf(self) -> str:
        principal = self.person.principal if self.person else None
        whose = f"{principal.id} {principal.name} {principal.user}" if principal else ""
        return security.csrf_token(self.secret, whose)

    def of(self, principal: Principal) -> Visit:
        return replace(self, person=Person.of(principal))

    def keep(self, response: Response) -> Response:
        """Give the browser its cookie, if it has none yet."""
        if self.fresh and not self.session:
            security.set_cookie(
                response, security.VISITOR, self.secret, secure=self.secure, strict=True
            )
        return response


async def visit_of(request: Request, site: Site) -> Visit:
    """The visit with its person; without one if nobody has signed in."""
    visit = Visit.new(request, site)
    authenticator = site.gateway.authenticator
    try:
        if secret_in(request.headers).startswith(KEY_PREFIX):
            return visit.of(await identified(authenticator, request.headers))
        if token := security.cookie(request, security.SESSION):
            found = await _signed_in(visit, token, site)
            if found is not None:
                return found
    except ApiError as problem:
        raise PageError(problem.status, "Not signed in", problem.message) from None
    return await _local(visit, site)


async def _signed_in(visit: Visit, token: str, site: Site) -> Visit | None:
    session = await site.run(lambda: site.sessions.find(token))
    if session is None:
        return None
    principal = session.principal
    if session.kind == KIND:  # a key stands for the people behind it; an account is a person
        headers = visit.request.headers
        principal = await asyncio.to_thread(site.gateway.authenticator.identify, principal, headers)
    return replace(visit.of(principal), secret=token, session=token)


async def _local(visit: Visit, site: Site) -> Visit:
    """The local user, where the API accepts callers without a key. Requests through a proxy are
    not local, whoever the proxy lets in."""
    authenticator, headers = site.gateway.authenticator, visit.request.headers
    if not authenticator.open or is_proxied(headers):
        return visit
    try:
        caller = await identified(authenticator, headers)
    except ApiError as problem:
        if problem.status == 403:  # a host name of somebody else: DNS rebinding
            raise PageError(403, "Not allowed", problem.message) from None
        return visit
    return visit.of(LOCAL) if caller == ANYONE else visit
