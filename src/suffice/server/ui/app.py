"""The routes of the site and its navigation. Each module of pages adds its `ROUTES` here."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from suffice.access.keys import Role
from suffice.server.ui import case, queue, sign_in, try_it
from suffice.server.ui.page import PageContext, PageError, page
from suffice.server.ui.site import NavItem, Site

NAV: tuple[NavItem, ...] = (
    NavItem("Try it", "/ui/try", Role.VIEWER),
    NavItem("Queue", "/ui/queue", Role.REVIEWER),
)
"""In this order; the first one that a person may see is where the site starts."""


def ui_routes(site: Site) -> list[BaseRoute]:
    """The routes under `/ui`."""
    return [
        Route("/", page(start)),
        Route("/static/{name}", site.static.serve),
        *sign_in.ROUTES,
        *try_it.ROUTES,
        *queue.ROUTES,
        *case.ROUTES,
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
