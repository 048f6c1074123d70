"""Sign in and out, and change one's own password."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from suffice.access.identity import KEY_PREFIX
from suffice.access.keys import ACCOUNT, KEY, Principal, Role
from suffice.access.sign_in import SignInAttempt
from suffice.errors import PrincipalError
from suffice.server.auth import address_of
from suffice.server.ui import security
from suffice.server.ui.browser import accepts_local, browser_of
from suffice.server.ui.page import SIGN_IN, Form, PageContext, checked_form, page
from suffice.server.ui.security import PageError
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
        return KEY if self.is_key else ACCOUNT


async def form_page(context: PageContext) -> Response:
    """Show the sign-in form. People who are already signed in are redirected."""
    request, site = context.request, context.site
    target = security.local_path(request.query_params.get("next", ""))
    person = (await browser_of(request, site)).person
    if person and person.has(Role.VIEWER) and "switch" not in request.query_params:
        return RedirectResponse(target, 303)
    # Whoever followed a link of another site may go on by a link of this one.
    local = accepts_local(request, site) and security.from_elsewhere(request)
    return context.render("sign_in.html", next=target, name="", problem="", local=local)


async def sign_in(context: PageContext) -> Response:
    site = context.site
    form = await checked_form(context, _LONGEST_FORM)
    target = security.local_path(form.get("next", ""))
    typed = _typed(form)
    attempt = SignInAttempt(_address(context), typed.name)
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
            return context.render("sign_in.html", 401, **shown)
    return await _started(context, principal, typed, attempt, target)


_NO_ROLE = (
    "The key or account is valid, but the site needs one of the roles viewer, reviewer and admin."
)


async def _started(
    context: PageContext,
    principal: Principal,
    typed: Credentials,
    attempt: SignInAttempt,
    target: str,
) -> Response:
    site, address = context.site, attempt.address

    def start() -> str:
        site.attempts.succeeded(attempt)
        if before := security.cookie(context.request, security.SESSION):
            site.sessions.end(before, principal.name, address)
        return site.sessions.start(principal, typed.way, address)

    token = await context.run(start)
    response = RedirectResponse(target, 303)
    # Use a new token for each sign-in, to prevent session fixation.
    security.set_cookie(response, security.SESSION, token, secure=context.browser.secure)
    return response


def _address(context: PageContext) -> str:
    return address_of(context.request, context.settings.server.site.behind_proxy)


def _typed(form: Form) -> Credentials:
    name, password, key = (form.get(field, "")[:_LONGEST] for field in ("name", "password", "key"))
    return Credentials("", key.strip()) if key.strip() else Credentials(name.strip(), password)


def _checked(site: Site, typed: Credentials) -> Principal | None:
    if not typed.is_key:
        return site.accounts.check(typed.name, typed.secret)
    if not typed.secret.startswith(KEY_PREFIX) or not typed.secret.isascii():
        return None
    principals = site.gateway.authenticator.principals
    principal = principals.lookup(typed.secret)
    return principal if principal and not principals.expired(principal) else None


def _refused(site: Site, typed: Credentials, attempt: SignInAttempt, why: str) -> None:
    site.attempts.failed(attempt)
    name = typed.name if not typed.is_key and site.accounts.exists(typed.name) else ""
    site.sessions.refused(name, typed.way, attempt.address, why)


async def sign_out(context: PageContext) -> Response:
    """End the session, if it has not ended yet."""
    site = context.site
    browser = await browser_of(context.request, site)
    await checked_form(replace(context, browser=browser), _LONGEST_FORM)
    if browser.person is not None and browser.session:
        end = site.sessions.end
        await context.run(end, browser.session, browser.person.name, _address(context))
    response = RedirectResponse(SIGN_IN, 303)
    security.delete_cookie(response, security.SESSION, secure=browser.secure)
    return response


async def password_form(context: PageContext) -> Response:
    return context.render("password.html", problem=None, own=await _has_account(context))


async def change_password(context: PageContext) -> Response:
    """Change one's own password; all sessions of the account end."""
    form, name = context.form, context.person.principal.name
    if not await _has_account(context):
        raise PageError(400, "No account", "You did not sign in with an account.")

    attempt = SignInAttempt(_address(context), name)

    def change() -> None:
        # Counted as at sign-in: a stolen session must not allow guessing.
        if wait := context.site.attempts.wait(attempt):
            raise too_many_attempts(wait)
        if context.site.accounts.check(name, form.get("old", "")) is None:
            context.site.attempts.failed(attempt)
            raise PrincipalError("The current password is wrong.", remedy="Type it again.")
        if form.get("new", "") != form.get("again", ""):
            raise PrincipalError("The two new passwords differ.", remedy="Type them again.")
        context.site.accounts.set_password(name, form.get("new", ""), context.person.name)

    try:
        async with context.site.checking_passwords():
            await context.run(change)
    except PrincipalError as problem:
        return context.render("password.html", 400, problem=problem, own=True)
    return context.redirect("/ui/sign-in")


async def _has_account(context: PageContext) -> bool:
    name = context.person.principal.name
    return bool(context.browser.session) and await context.run(context.site.accounts.exists, name)


def too_many_attempts(seconds: float) -> PageError:
    """The error for an attempt after too many failures."""
    shown = max(int(seconds + 0.999), 1)
    return PageError(
        429,
        "Too many attempts",
        "There were too many failed attempts to sign in or to change the password.",
        f"Try again in {shown} s.",
        {"Retry-After": str(shown)},
    )


ROUTES = [
    Route("/sign-in", page(form_page, None)),
    Route("/sign-in", page(sign_in, None), methods=["POST"]),
    Route("/sign-out", page(sign_out, None), methods=["POST"]),
    Route("/password", page(password_form, Role.VIEWER)),
    Route("/password", page(change_password, Role.VIEWER), methods=["POST"]),
]
