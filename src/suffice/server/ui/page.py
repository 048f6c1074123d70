"""Page endpoints: authenticate the person, call the handler, and render failures.

>>> ROUTES = [Route("/queue", page(queue, Role.REVIEWER))]
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote

from starlette.datastructures import ImmutableMultiDict
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from suffice.access.keys import ALL, Role
from suffice.errors import StoreError, SufficeError
from suffice.log.log import Log
from suffice.log.record import Record
from suffice.server.auth import needs
from suffice.server.errors import CLOSE, ApiError, fault_of
from suffice.server.gateway import Gateway
from suffice.server.request import RequestContext, admit
from suffice.server.sending import ClientGone
from suffice.server.telemetry.logs import description_of
from suffice.server.telemetry.stats import CURRENT_STATS, RequestStats
from suffice.server.ui import security
from suffice.server.ui.browser import Browser, Person, browser_of
from suffice.server.ui.guide import guide_of
from suffice.server.ui.security import PageError
from suffice.server.ui.site import Site
from suffice.settings import Settings

TYPE = "application/x-www-form-urlencoded"
_FIELDS = 2_000
_REMEDY = "Go back and send the form again."


async def read_form(request: Request, most: int, seconds: float) -> ImmutableMultiDict[str, str]:
    """The fields of a form. It is parsed in a thread, because it can be large."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != TYPE:
        raise PageError(
            415, "Form refused", "The content type of the form is not supported.", _REMEDY
        )
    try:
        async with asyncio.timeout(seconds):
            sent = await _bytes(request, most)
    except TimeoutError:
        late = "The form did not arrive in time."
        raise PageError(408, "Timed out", late, _REMEDY, CLOSE) from None
    except ClientDisconnect:
        raise PageError(
            400, "Form refused", "The form did not arrive completely.", _REMEDY
        ) from None
    try:
        return await asyncio.to_thread(_parsed, sent)
    except ValueError:
        raise PageError(
            400, "Form refused", "The form cannot be read: it is not valid UTF-8.", _REMEDY
        ) from None


async def _bytes(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise PageError(
                413,
                "Too large",
                f"The form exceeds the limit of {most:,} bytes.",
                "Send less text, or raise server.limits.body_bytes.",
            )
        parts.append(part)
    return b"".join(parts)


def _parsed(sent: bytes) -> ImmutableMultiDict[str, str]:
    pairs = parse_qsl(
        sent.decode("ascii"),
        keep_blank_values=True,
        encoding="utf-8",
        errors="strict",
        max_num_fields=_FIELDS,
    )
    # PostgreSQL cannot store NUL, and browsers send line breaks as CR LF.
    return ImmutableMultiDict(
        (name, value.replace("\x00", "\ufffd").replace("\r\n", "\n")) for name, value in pairs
    )


T = TypeVar("T")
log = logging.getLogger("suffice.server")
Form = ImmutableMultiDict[str, str]
THEMES = ("light", "dark")
THEME = "suffice_theme"
_HUNG_UP = 499
SIGN_IN = f"{security.BASE}/sign-in"


@dataclass(frozen=True, slots=True)
class PageContext:
    """A request for a page. The CSRF token of a POST is checked before the handler runs, unless
    the page requires no sign-in."""

    request: Request
    site: Site
    browser: Browser
    form: Form = field(default_factory=lambda: Form([]))
    """The fields of a POST; `form.getlist(name)` returns all values of a repeated field."""

    @property
    def gateway(self) -> Gateway:
        return self.site.gateway

    @property
    def settings(self) -> Settings:
        return self.site.settings

    @property
    def person(self) -> Person:
        """The person who is signed in, on a page that requires it."""
        assert self.browser.person is not None
        return self.browser.person

    async def run(self, call: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run blocking work (SQL, files) in a thread of the site."""
        return await self.site.run(lambda: call(*args, **kwargs))

    def render(self, template: str, /, status: int = 200, **values: Any) -> Rendering:
        """Render a template, with person, csrf, nav, path, theme and notice as additional
        values. The text is made just before it is sent."""
        browser, request, site = self.browser, self.request, self.site
        person, theme = browser.person, request.cookies.get(THEME, "")
        shared = {
            "person": person,
            "csrf": browser.csrf,
            "nav": [item for item in site.nav if person and person.has(Role(item.role))],
            "path": request.url.path,
            "theme": theme if theme in THEMES else "auto",
            "guide": guide_of(request) if self.settings.server.site.guide else None,
            "notice": security.opened_notice(
                request.cookies.get(security.NOTICE, ""), browser.csrf
            ),
        }

        def make() -> str:
            return site.templates.get_template(template).render({**shared, **values})

        response = Rendering(make, status)
        if security.NOTICE in request.cookies:
            security.delete_cookie(response, security.NOTICE, secure=browser.secure)
        return response

    def redirect(self, path: str, notice: str = "") -> Response:
        """Redirect to a path of the site (303). `notice` is shown there once."""
        response = RedirectResponse(security.local_path(path), 303)
        if notice:
            sealed = security.sealed_notice(notice, self.browser.csrf)
            security.set_cookie(response, security.NOTICE, sealed, secure=self.browser.secure)
        return response


class Rendering(HTMLResponse):
    """A page whose text is made later, in a thread: a large one takes longer than the event loop
    may be kept from the gateway's own requests."""

    def __init__(self, make: Callable[[], str], status: int) -> None:
        super().__init__("", status)
        self._make = make

    def complete(self) -> None:
        self.body = self._make().encode("utf-8", "replace")
        self.headers["content-length"] = str(len(self.body))


Handler = Callable[[PageContext], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def page(handler: Handler, role: Role | None) -> Endpoint:
    """An endpoint for people with this role. Others are asked to sign in, or get an error. Without
    a role, it is for everybody, and the handler sees no person and checks a form itself."""

    @needs(*([role] if role else []))
    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        context = PageContext(request, site, Browser.new(request, site))
        try:
            if role is None:
                response = await handler(context)
            else:
                context = replace(context, browser=await browser_of(request, site))
                response = await _handled(handler, role, context)
            if isinstance(response, Rendering):
                await site.run(response.complete)
        except Exception as problem:
            response = _failed(context, problem)
        return context.browser.keep(security.secured(response))

    return endpoint


async def _handled(handler: Handler, role: Role, context: PageContext) -> Response:
    request, person = context.request, context.browser.person
    posted = request.method not in ("GET", "HEAD")
    if person is None:
        if posted:
            raise PageError(401, "Signed out", "Your session has ended.", "Sign in and try again.")
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"{SIGN_IN}?next={quote(target, safe='')}", 303)
    if not person.has(role):
        raise _not_allowed(person, role)
    if posted:
        context = replace(context, form=await checked_form(context))
    limit = context.settings.server.timeout
    try:
        async with asyncio.timeout(limit):
            return await handler(context)
    except TimeoutError:
        raise PageError(
            504,
            "Timed out",
            f"The page took longer than {limit:g} s.",
            "Request less data, or try again later.",
        ) from None


async def checked_form(context: PageContext, most: int | None = None) -> Form:
    """The form of a POST, of at most this many bytes. Raise `PageError` if it was not sent by a
    page of this site."""
    if not security.from_here(context.request):
        raise _foreign()
    limits = context.settings.server.limits
    form = await read_form(context.request, most or limits.body_bytes, limits.body_seconds)
    sent = context.request.headers.get("x-csrf-token", "") or form.get("csrf", "")
    if not security.same_token(sent, context.browser.csrf):
        raise _foreign()
    return form


def _not_allowed(person: Person, role: Role) -> PageError:
    needed = f"This page needs the role {role.value}."
    if not person.principal.id:
        remedy = (
            "You have not signed in. Sign in with an account that has the role; to create one, run "
            f"on the machine that has the store: suffice accounts add NAME --role {role.value}"
        )
        return PageError(403, "Not allowed", needed, remedy)
    remedy = f"You are signed in as {person.name}. Ask an admin for the role, or sign in with "
    return PageError(403, "Not allowed", needed, f"{remedy}another account.")


def _foreign() -> PageError:
    return PageError(
        403,
        "Form refused",
        "The form was not sent from a current page of this site, so nothing was changed.",
        "Go back, reload the page and try again.",
    )


def _failed(context: PageContext, problem: Exception) -> Response:
    """The error page for a failure: what happened and what to do."""
    if isinstance(problem, ClientGone):  # nobody reads it
        return Response(status_code=_HUNG_UP)
    error = as_page_error(problem, context.request.url.path)
    response = context.render("error.html", error.status, problem=error)
    response.headers.update(error.headers)
    response.complete()  # small, and it must not fail for want of a thread
    return response


def as_page_error(problem: Exception, path: str) -> PageError:
    """The failure as a page shows it; `path` is for the log."""
    if isinstance(problem, PageError):
        return problem
    if isinstance(problem, ApiError):
        title = "Not found" if problem.status == 404 else "Not possible"
        return PageError(problem.status, title, problem.message, headers=problem.headers)
    if isinstance(problem, SufficeError):
        log.info("%s: %s", path, description_of(problem, with_text=False))
        fault = fault_of(problem)
        if fault.status == 500:  # its message and remedy are written for users
            return PageError(400, "Not possible", problem.message, problem.remedy)
        return PageError(fault.status, "Not possible", fault.message)
    # A bug: show a generic error and log the traceback.
    log.error("%s: %s", path, type(problem).__name__, exc_info=problem)
    return PageError(
        500,
        "Something went wrong",
        "The page could not be displayed.",
        "Try again. If the problem persists, the gateway's log has the details.",
    )


@asynccontextmanager
async def as_api_call(context: PageContext, path: str) -> AsyncIterator[RequestContext]:
    """Admit the work of a page within the limits of an API call of this person, and count it as
    one. What fails is raised as a `PageError`."""
    gateway, stats = context.gateway, RequestStats(path, time.perf_counter())
    CURRENT_STATS.set(stats)
    with ExitStack() as stack:
        stack.callback(gateway.tell, stats)
        try:
            yield await admit(context.request, gateway, context.person.principal, stack, stats)
        except (PageError, ApiError, SufficeError) as problem:
            error = as_page_error(problem, path)
            stats.status = error.status
            raise error from None


@contextmanager
def missing_as(title: str, message: str, remedy: str) -> Iterator[None]:
    """Report a record that the person may not know of like one that does not exist. An empty
    message is that of the failure."""
    try:
        yield
    except StoreError as missing:
        if type(missing) is not StoreError:
            raise
        raise PageError(404, title, message or missing.message, remedy) from missing


def attachment(content: bytes | AsyncIterator[bytes], name: str, media_type: str) -> Response:
    """A file for the browser to save."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if isinstance(content, bytes):
        return Response(content, headers=headers, media_type=media_type)
    return StreamingResponse(content, headers=headers, media_type=media_type)


EXPORT = "export"
"""The kind of records about exports."""
_SECONDS = 5.0
"""How long a download waits for the index."""


def log_of(context: PageContext) -> Log:
    """The log of the gateway; raise if it keeps none."""
    if context.gateway.log is None:
        raise PageError(
            404,
            "No records",
            "This gateway keeps no records, so there is nothing to show.",
            "Set record.enabled to auto in the settings and restart the gateway.",
        )
    return context.gateway.log


async def refreshed(context: PageContext) -> int:
    """Bring the index of decisions up to date; return how many records are still unread."""
    return await context.run(context.gateway.indexing.refresh)


async def record_export(context: PageContext, what: str, **details: object) -> None:
    """Record who takes which data away. The data may be sent only afterwards."""
    record = Record(EXPORT, {"what": what, **details}, caller=context.person.name)
    await context.run(log_of(context).append, record)


async def completed(context: PageContext) -> None:
    """Bring the index of decisions up to date for a download, which must be complete; raise if that
    takes too long."""
    left = await context.run(context.gateway.indexing.catch_up_within, _SECONDS)
    if left:
        raise PageError(
            503,
            "Still indexing",
            "Some records are still being indexed, so the download would be incomplete.",
            "Try again in a moment. If that does not help, the gateway's log says why.",
            {"Retry-After": "10"},
        )


def sees_all(context: PageContext) -> bool:
    """Whether the person may see what counts all records: figures of the whole log, numbers of
    records, and the state of the chain."""
    return context.person.reader.audits


def limits_of(context: PageContext) -> list[str]:
    """The collections that a person's figures are limited to; empty: to none."""
    collections = context.person.reader.collections
    return [] if ALL in collections else sorted(collections)
