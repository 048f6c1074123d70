"""Identify who visits a page.

In this order: a key in the headers (sent by a reverse proxy, with the person's identity), a
session, and, on a gateway that requires no keys, the local user.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response

from suffice.access.identity import KEY_PREFIX
from suffice.access.keys import KEY, LOCAL_NAME, Principal, Role
from suffice.access.visibility import Reader
from suffice.server.auth import ANYONE, identified, is_proxied, secret_in
from suffice.server.errors import ApiError
from suffice.server.ui import security
from suffice.server.ui.security import PageError
from suffice.server.ui.site import Site


def local_user(role: str) -> Principal:
    """The local user of a gateway that requires no keys and accepts only local connections. Like
    callers without a key, this user may read public documents only. It is no admin unless the
    settings say so: a key that it creates would outlast an open gateway."""
    return Principal("", LOCAL_NAME, frozenset({Role(role)}))


@dataclass(frozen=True, slots=True)
class Person:
    """A person who is signed in. `name` is shown on pages and recorded with decisions; `reader`
    defines what the person may see."""

    principal: Principal
    name: str
    reader: Reader

    @classmethod
    def of(cls, principal: Principal) -> Person:
        return cls(principal, principal.user or principal.name, Reader.of(principal))

    def has(self, role: Role | str) -> bool:
        return self.principal.has(Role(role))


@dataclass(frozen=True, slots=True)
class Browser:
    """A request and its person. The CSRF token is derived from `secret`, which is in a cookie."""

    request: Request
    person: Person | None
    secret: str
    secure: bool
    fresh: bool = False
    """Whether the cookie has to be set."""
    session: str = ""
    """The session token; empty if there is no session."""

    @classmethod
    def new(cls, request: Request, site: Site) -> Browser:
        """A browser without a person."""
        behind_proxy = site.settings.server.site.behind_proxy
        visitor = security.cookie(request, security.VISITOR)
        secret = visitor or security.new_secret()
        secure = security.encrypted(request, behind_proxy)
        return cls(request, None, secret, secure, fresh=not visitor)

    @property
    def csrf(self) -> str:
        principal = self.person.principal if self.person else None
        whose = f"{principal.id} {principal.name} {principal.user}" if principal else ""
        return security.csrf_token(self.secret, whose)

    def of(self, principal: Principal) -> Browser:
        return replace(self, person=Person.of(principal))

    def keep(self, response: Response) -> Response:
        """Set the visitor cookie, if the browser has none yet."""
        if self.fresh and not self.session:
            security.set_cookie(
                response, security.VISITOR, self.secret, secure=self.secure, strict=True
            )
        return response


async def browser_of(request: Request, site: Site) -> Browser:
    """The browser, with its person if somebody has signed in."""
    browser = Browser.new(request, site)
    authenticator = site.gateway.authenticator
    try:
        if secret_in(request.headers).startswith(KEY_PREFIX):
            return browser.of(await identified(authenticator, request.headers))
        if token := security.cookie(request, security.SESSION):
            signed_in = await _signed_in(browser, token, site)
            if signed_in is not None:
                return signed_in
    except ApiError as problem:
        raise PageError(problem.status, "Not signed in", problem.message) from None
    return await _local(browser, site)


async def _signed_in(browser: Browser, token: str, site: Site) -> Browser | None:
    session = await site.run(lambda: site.sessions.find(token))
    if session is None:
        return None
    principal = session.principal
    if session.kind == KEY:  # several people can use a key, but an account is one person
        headers = browser.request.headers
        principal = await asyncio.to_thread(site.gateway.authenticator.identify, principal, headers)
    return replace(browser.of(principal), secret=token, session=token)


def accepts_local(request: Request, site: Site) -> bool:
    """Whether the local user needs no sign-in here."""
    return site.gateway.authenticator.open and not is_proxied(request.headers)


async def _local(browser: Browser, site: Site) -> Browser:
    """The local user, if the API accepts callers without a key. Requests through a proxy are never
    local, even if the proxy authenticates them, and neither are those of other sites: they need no
    cookie to come from the browser of the local user."""
    authenticator, headers = site.gateway.authenticator, browser.request.headers
    if not accepts_local(browser.request, site) or security.from_elsewhere(browser.request):
        return browser
    try:
        caller = await identified(authenticator, headers)
    except ApiError as problem:
        if problem.status == 403:  # a foreign host name: DNS rebinding
            raise PageError(403, "Not allowed", problem.message) from None
        return browser
    role = site.settings.server.site.local_role
    return browser.of(local_user(role)) if caller == ANYONE else browser
