"""Try it: ask a question, or check a draft against evidence."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import Route

from suffice.server.ui.page import PageContext, page


async def show(context: PageContext) -> Response:
    return context.render("try.html")


ROUTES = [Route("/try", page(show))]
