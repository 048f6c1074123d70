"""The routes and the navigation of the site. Each page module adds its `ROUTES` here."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from suffice.access.keys import Role
from suffice.server.ui import (
    case,
    documents_page,
    gaps_page,
    guarantee,
    overview,
    people,
    record_page,
    settings_page,
    sign_in,
    try_it,
)
from suffice.server.ui.page import PageContext, page
from suffice.server.ui.security import PageError
from suffice.server.ui.site import NavItem, Site

NAV: tuple[NavItem, ...] = (
    NavItem("Overview", "/ui/overview", Role.VIEWER),
    NavItem("Try it", "/ui/try", Role.VIEWER),
    NavItem("Queue", "/ui/queue", Role.REVIEWER),
    NavItem("Log", "/ui/log", Role.VIEWER),
    NavItem("Documents", "/ui/documents", Role.VIEWER),
    NavItem("Guarantee", "/ui/health", Role.VIEWER),
    NavItem("Settings", "/ui/settings", Role.ADMIN),
    NavItem("Keys and accounts", "/ui/people", Role.ADMIN),
)
"""The navigation, in order. The start page is the first page that the person may see."""


def ui_routes(site: Site) -> list[BaseRoute]:
    """The routes under `/ui`."""
    return [
        Route("/", page(start, Role.VIEWER)),
        Route("/static/{name}", site.static.serve),
        *sign_in.ROUTES,
        *overview.ROUTES,
        *record_page.ROUTES,
        *documents_page.ROUTES,
        *guarantee.ROUTES,
        *gaps_page.ROUTES,
        *try_it.ROUTES,
        *case.ROUTES,
        *settings_page.ROUTES,
        *people.ROUTES,
        Route("/{path:path}", page(missing, Role.VIEWER), methods=["GET", "POST"]),
    ]


async def start(context: PageContext) -> Response:
    """Redirect to the start page."""
    first = next(item for item in NAV if context.person.has(item.role))
    return context.redirect(first.path)


async def missing(context: PageContext) -> Response:
    raise PageError(
        404,
        "Not found",
        f"There is no page {context.request.url.path}.",
        "Choose a page from the navigation.",
    )
