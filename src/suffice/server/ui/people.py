"""Keys and accounts: create, revoke, disable; each change is a record. And one's own password."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.attempts import Attempt
from suffice.access.keys import ALL, Principal, Principals, Role
from suffice.errors import PrincipalError
from suffice.log.moment import now, timestamp
from suffice.server.auth import address_of
from suffice.server.ui.page import Form, PageContext, page
from suffice.server.ui.page_error import PageError, too_many_attempts

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
