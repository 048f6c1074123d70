"""Sign in with an API key or a local account, and sign out."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from suffice.access.attempts import Attempt
from suffice.access.identity import KEY_PREFIX
from suffice.access.keys import ACCOUNT, KIND, Principal, Role
from suffice.server.auth import address_of
from suffice.server.ui import security
from suffice.server.ui.browser import Browser, accepts_local, browser_of
from suffice.server.ui.page import SIGN_IN, Form, checked_form, entry, rendered
from suffice.server.ui.page_error import too_many_attempts
from suffice.server.ui.site import Site

_WRONG = "The name or the password is wrong."
_WRONG_KEY = "This key is unknown, was revoked or has expired."
_LONGEST = 2_000
_LONGEST_FORM = 65_536
"""Bytes of a form that somebody who is not signed in may send."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The submitted credentials: an account name and password, or an API key."""

    name: str
    secret: str

    @property
    def is_key(self) -> bool:
        return not self.name

    @property
    def way(self) -> str:
        return KIND if self.is_key else ACCOUNT


async def form_page(request: Request, site: Site, browser: Browser) -> Response:
    """Show the sign-in form. People who are already signed in are redirected."""
    target = security.local_path(request.query_params.get("next", ""))
    known = await browser_of(request, site)
    if (
        known.person is not None
        and known.person.has(Role.VIEWER)
        and "switch" not in request.query_params
    ):
        return RedirectResponse(target, 303)
    # Whoever followed a link of another site may go on by a link of this one.
    local = accepts_local(request, site) and security.from_elsewhere(request)
    return rendered(site, browser, "sign_in.html", next=target, name="", problem="", local=local)


async def sign_in(request: Request, site: Site, browser: Browser) -> Response:
    form = await checked_form(request, browser, site.gateway, _LONGEST_FORM)
    target = security.local_path(form.get("next", ""))
    typed = _typed(form)
    settings = site.gateway.state.settings.server.site
    address = address_of(request, settings.behind_proxy)
    attempt = Attempt(address, typed.name)
    # Few at once, and counted before the next: many at once must not escape the lock-out.
    async with site.checking_passwords():
        if wait := await site.run(lambda: site.attempts.wait(attempt)):
            raise too_many_attempts(wait)
        principal = await asyncio.to_thread(_checked, site, typed)
        if principal is None or not principal.has(Role.VIEWER):
            why = "no role" if principal else "wrong"
            await site.run(lambda: _refused(site, typed, attempt, why))
            problem = _NO_ROLE if principal else (_WRONG_KEY if typed.is_key else _WRONG)
            shown = {"next": target, "name": typed.name, "problem": problem, "local": False}
            return rendered(site, browser, "sign_in.html", 401, **shown)
    return await _started(site, browser, principal, typed, attempt, target)


_NO_ROLE = (
    "The key or account is valid, but the site needs one of the roles viewer, reviewer and admin."
)


async def _started(
    site: Site,
    browser: Browser,
    principal: Principal,
    typed: Credentials,
    attempt: Attempt,
    target: str,
) -> Response:
    address = attempt.address

    def start() -> str:
        site.attempts.succeeded(attempt)
        if before := security.cookie(browser.request, security.SESSION):
            site.sessions.end(before, principal.name, address)
        return site.sessions.start(principal, typed.way, address)

    token = await site.run(start)
    response = RedirectResponse(target, 303)
    # Use a new token for each sign-in, to prevent session fixation.
    security.set_cookie(response, security.SESSION, token, secure=browser.secure)
    return response


def _typed(form: Form) -> Credentials:
    name, password, key = (form.get(field, "")[:_LONGEST] for field in ("name", "password", "key"))
    return Credentials("", key.strip()) if key.strip() else Credentials(name.strip(), password)


def _checked(site: Site, typed: Credentials) -> Principal | None:
    if not typed.is_key:
        return site.accounts.check(typed.name, typed.secret)
    if not typed.secret.startswith(KEY_PREFIX) or not typed.secret.isascii():
        return None
    principals = site.gateway.authenticator.principals
    found = principals.lookup(typed.secret)
    return found if found and not principals.expired(found) else None


def _refused(site: Site, typed: Credentials, attempt: Attempt, why: str) -> None:
    site.attempts.failed(attempt)
    known = typed.name if not typed.is_key and site.accounts.exists(typed.name) else ""
    site.sessions.refused(known, typed.way, attempt.address, why)


async def sign_out(request: Request, site: Site, browser: Browser) -> Response:
    known = await browser_of(request, site)
    await checked_form(request, known, site.gateway, _LONGEST_FORM)
    if known.person is not None and known.session:
        name, settings = known.person.name, site.gateway.state.settings.server.site
        address = address_of(request, settings.behind_proxy)
        await site.run(lambda: site.sessions.end(known.session, name, address))
    response = RedirectResponse(SIGN_IN, 303)
    security.delete_cookie(response, security.SESSION, secure=browser.secure)
    return response


ROUTES = [
    Route("/sign-in", entry(form_page)),
    Route("/sign-in", entry(sign_in), methods=["POST"]),
    Route("/sign-out", entry(sign_out), methods=["POST"]),
]
