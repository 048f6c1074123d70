"""The routes of the site and its navigation. Each module of pages adds its `ROUTES` here."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from suffice.access.keys import Role
from suffice.server.ui import (
    documents_page,
    gaps_page,
    guarantee,
    log_page,
    overview,
    record_page,
    sign_in,
    try_it,
)
from suffice.server.ui.page import PageContext, PageError, page
from suffice.server.ui.site import NavItem, Site

NAV: tuple[NavItem, ...] = (
    NavItem("Overview", "/ui/overview", Role.VIEWER),
    NavItem("Try it", "/ui/try", Role.VIEWER),
    NavItem("Log", "/ui/log", Role.VIEWER),
    NavItem("Documents", "/ui/documents", Role.VIEWER),
    NavItem("Guarantee and health", "/ui/health", Role.VIEWER),
)
"""In this order; the first one that a person may see is where the site starts."""


def ui_routes(site: Site) -> list[BaseRoute]:
    """The routes under `/ui`."""
    return [
        Route("/", page(start)),
        Route("/static/{name}", site.static.serve),
        *sign_in.ROUTES,
        *overview.ROUTES,
        *log_page.ROUTES,
        *record_page.ROUTES,
        *documents_page.ROUTES,
        *guarantee.ROUTES,
        *gaps_page.ROUTES,
        *try_it.ROUTES,
        Route("/{path:path}", page(missing), methods=["GET", "POST"]),
    ]


async def start(context: PageContext) -> Response:
    """Go to the first page."""
    first = next(item for item in NAV if context.person.has(item.role))
    return context.redirect(first.path)


async def missing(context: PageContext) -> Response:
    raise PageError(
        404,
        "Not found",
        f"There is no page {context.request.url.path}.",
        "Choose a page from the navigation.",
    )
