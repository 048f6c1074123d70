"""Keys and accounts: create, revoke, disable; each change is a record."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.keys import ALL, CreatedKey, Principal, Role
from suffice.errors import PrincipalError
from suffice.log.chain import now, timestamp
from suffice.server.ui.page import Form, PageContext, page
from suffice.server.ui.security import PageError

PATH = "/ui/people"
SITE_ROLES = (Role.VIEWER, Role.REVIEWER, Role.ADMIN)
_DAYS = {"30": "30 days", "90": "90 days", "365": "a year", "": "never"}


async def show(context: PageContext) -> Response:
    return await _page(context)


async def create_key(context: PageContext) -> Response:
    """Create a key and show it, this once."""
    form = context.form

    def create() -> CreatedKey:
        days = form.get("expires", "")
        expires = now() + timedelta(days=int(days)) if days in _DAYS and days else None
        return context.site.principals.create(
            form.get("name", "").strip(),
            _roles(form, Role),
            _labels(context, form),
            _within(form, "collection", context.person.principal.collections),
            _within(form, "route", context.person.principal.routes),
            by=context.person.name,
            expires=expires,
        )

    try:
        created = await context.run(create)
    except PrincipalError as problem:
        return await _page(context, problem=problem, where="key")
    return await _page(context, created=created)


async def revoke_key(context: PageContext) -> Response:
    id = context.form.get("id", "")
    if id == context.person.principal.id:
        raise _own("key", "Revoke it")
    ended = await context.run(context.site.principals.revoke, id, context.person.name)
    return context.redirect(PATH, f"The key {ended.name} is revoked.")


async def add_account(context: PageContext) -> Response:
    form = context.form

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
            added = await context.run(add)
    except PrincipalError as problem:
        return await _page(context, problem=problem, where="account")
    return context.redirect(PATH, f"The account {added.name} is added.")


async def disable_account(context: PageContext) -> Response:
    name = context.form.get("name", "")
    if name == context.person.principal.name:
        raise _own("account", "Disable it")
    ended = await context.run(context.site.accounts.disable, name, context.person.name)
    return context.redirect(PATH, f"The account {ended.name} is disabled and signed out.")


async def _page(
    context: PageContext,
    *,
    created: CreatedKey | None = None,
    problem: PrincipalError | None = None,
    where: str = "",
) -> Response:
    """The page; `where` is the form that could not be used, which keeps what was typed."""
    keys = await context.run(context.site.principals.all)
    accounts = await context.run(context.site.accounts.all)
    return context.render(
        "people.html",
        400 if problem else 200,
        keys=keys,
        accounts=accounts,
        created=created,
        problem=problem,
        typed=context.form,
        where=where,
        all_roles=[role.value for role in Role],
        site_roles=[role.value for role in SITE_ROLES],
        labels=sorted(context.person.reader.labels),
        collections=_hint(context.person.principal.collections),
        routes=_hint(context.person.principal.routes),
        days=list(_DAYS.items()),
        now=timestamp(now()),
    )


def _roles(form: Form, allowed: Iterable[Role]) -> list[str]:
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


def _within(form: Form, what: str, allowed: Collection[str]) -> list[str]:
    """The collections or routes to give: those of the admin if the form names none. Nobody gives
    what they may not use, and `*` is more than any list."""
    given = _list(form, f"{what}s")
    foreign = [] if ALL in allowed else sorted(set(given) - set(allowed))
    if foreign:
        raise PrincipalError(
            f"You may not use the {what} {', '.join(foreign)}.",
            remedy=f"You may give: {', '.join(sorted(allowed)) or 'none'}. For others, use "
            f"`suffice keys create` or `suffice accounts add` on the machine that has the store.",
        )
    return given or sorted(allowed)


def _list(form: Form, name: str) -> list[str]:
    return [part for part in form.get(name, "").replace(",", " ").split() if part]


def _hint(allowed: Collection[str]) -> str:
    return (
        "Empty: all." if ALL in allowed else f"Empty: all of yours ({', '.join(sorted(allowed))})."
    )


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
]
