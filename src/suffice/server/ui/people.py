"""Keys and accounts: create, revoke, disable; each change is a record. And one's own password."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from suffice.access.accounts import Attempt
from suffice.access.identity import KEY_PREFIX
from suffice.access.keys import ACCOUNT, ALL, KEY, Principal, Principals, Role
from suffice.errors import PrincipalError
from suffice.log.chain import now, timestamp
from suffice.server.auth import address_of
from suffice.server.ui import security
from suffice.server.ui.browser import Browser, accepts_local, browser_of
from suffice.server.ui.page import SIGN_IN, Form, PageContext, checked_form, entry, page, rendered
from suffice.server.ui.security import PageError, too_many_attempts
from suffice.server.ui.site import Site

PATH, ACCOUNT_PATH = "/ui/people", "/ui/password"
SITE_ROLES = (Role.VIEWER, Role.REVIEWER, Role.ADMIN)
_DAYS = {"30": "30 days", "90": "90 days", "365": "a year", "": "never"}


async def show(context: PageContext) -> Response:
    return await _page(context)


async def create_key(context: PageContext) -> Response:
    """Create a key and show it, this once."""
    form = await context.form()

    def create() -> Response | Any:
        days = form.get("expires", "")
        expires = now() + timedelta(days=int(days)) if days in _DAYS and days else None
        return _principals(context).create(
            form.get("name", "").strip(),
            _roles(form, Role),
            _labels(context, form),
            _within(form, "collection", context.person.principal.collections),
            _within(form, "route", context.person.principal.routes),
            by=context.person.name,
            expires=expires,
        )

    try:
        made = await context.run(create)
    except PrincipalError as problem:
        return await _page(context, problem=problem, typed=form, where="key")
    return await _page(context, made=made)


async def revoke_key(context: PageContext) -> Response:
    form = await context.form()
    id = form.get("id", "")
    if id == context.person.principal.id:
        raise _own("key", "Revoke it")
    ended = await context.run(_principals(context).revoke, id, context.person.name)
    return context.redirect(PATH, f"The key {ended.name} is revoked.")


async def add_account(context: PageContext) -> Response:
    form = await context.form()

    def add() -> Principal:
        return context.site.accounts.add(
            form.get("name", "").strip(),
            form.get("password", ""),
            _roles(form, SITE_ROLES),
            _labels(context, form),
            _within(form, "collection", context.person.principal.collections),
            by=context.person.name,
            routes=context.person.principal.routes,
        )

    try:
        async with context.site.checking_passwords():
            made = await context.run(add)
    except PrincipalError as problem:
        return await _page(context, problem=problem, typed=form, where="account")
    return context.redirect(PATH, f"The account {made.name} is added.")


async def disable_account(context: PageContext) -> Response:
    form = await context.form()
    name = form.get("name", "")
    if name == context.person.principal.name:
        raise _own("account", "Disable it")
    ended = await context.run(context.site.accounts.disable, name, context.person.name)
    return context.redirect(PATH, f"The account {ended.name} is disabled and signed out.")


async def password_form(context: PageContext) -> Response:
    return context.render("password.html", problem=None, own=await _has_account(context))


async def change_password(context: PageContext) -> Response:
    """Change one's own password; all sessions of the account end."""
    form, name = await context.form(), context.person.principal.name
    if not await _has_account(context):
        raise PageError(400, "No account", "You did not sign in with an account.")

    settings = context.gateway.state.settings.server.site
    attempt = Attempt(address_of(context.request, settings.behind_proxy), name)

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


async def _page(
    context: PageContext,
    *,
    made: Any = None,
    problem: PrincipalError | None = None,
    typed: Form | None = None,
    where: str = "",
) -> Response:
    principals = _principals(context)

    def read() -> tuple[list[Principal], list[Principal]]:
        return principals.all(), context.site.accounts.all()

    keys, accounts = await context.run(read)
    return context.render(
        "people.html",
        400 if problem else 200,
        keys=keys,
        accounts=accounts,
        made=made,
        problem=problem,
        typed=typed or Form([]),
        where=where,
        all_roles=[role.value for role in Role],
        site_roles=[role.value for role in SITE_ROLES],
        labels=sorted(context.person.reader.labels),
        collections=_hint(context.person.principal.collections),
        routes=_hint(context.person.principal.routes),
        days=list(_DAYS.items()),
        now=timestamp(now()),
    )


def _principals(context: PageContext) -> Principals:
    settings = context.gateway.state.settings
    return Principals(context.gateway.library.store.database, settings=settings.record)


def _roles(form: Form, allowed: Any) -> list[str]:
    roles = form.getlist("role")
    if not roles or not set(roles) <= {role.value for role in allowed}:
        raise PrincipalError("No role is chosen.", remedy="Choose at least one.")
    return roles


def _labels(context: PageContext, form: Form) -> list[str]:
    """The labels to give. Nobody gives what they do not hold: an admin may not open documents to
    themselves by a key of their own making."""
    labels = _list(form, "labels")
    foreign = sorted(set(labels) - context.person.reader.labels)
    if foreign:
        raise PrincipalError(
            f"You do not hold the label {', '.join(foreign)}.",
            remedy="Use `suffice keys create` or `suffice accounts add` with --label on the "
            "machine that has the store.",
        )
    return labels


def _within(form: Form, what: str, own: Collection[str]) -> list[str]:
    """The collections or routes to give: those of the admin if the form names none. Nobody gives
    what they may not use, and `*` is more than any list."""
    given = _list(form, f"{what}s")
    foreign = [] if ALL in own else sorted(set(given) - set(own))
    if foreign:
        raise PrincipalError(
            f"You may not use the {what} {', '.join(foreign)}.",
            remedy=f"You may give: {', '.join(sorted(own)) or 'none'}. For others, use "
            f"`suffice keys create` or `suffice accounts add` on the machine that has the store.",
        )
    return given or sorted(own)


def _list(form: Form, name: str) -> list[str]:
    return [part for part in form.get(name, "").replace(",", " ").split() if part]


def _hint(own: Collection[str]) -> str:
    return "Empty: all." if ALL in own else f"Empty: all of yours ({', '.join(sorted(own))})."


def _own(what: str, act: str) -> PageError:
    return PageError(
        400,
        "Not possible",
        f"You are signed in with this {what}.",
        f"{act} after signing in with another one.",
    )


ROUTES = [
    Route("/people", page(show, Role.ADMIN)),
    Route("/people/keys", page(create_key, Role.ADMIN), methods=["POST"]),
    Route("/people/keys/revoke", page(revoke_key, Role.ADMIN), methods=["POST"]),
    Route("/people/accounts", page(add_account, Role.ADMIN), methods=["POST"]),
    Route("/people/accounts/disable", page(disable_account, Role.ADMIN), methods=["POST"]),
    Route("/password", page(password_form, Role.VIEWER)),
    Route("/password", page(change_password, Role.VIEWER), methods=["POST"]),
]


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


SIGN_IN_ROUTES = [
    Route("/sign-in", entry(form_page)),
    Route("/sign-in", entry(sign_in), methods=["POST"]),
    Route("/sign-out", entry(sign_out), methods=["POST"]),
]
