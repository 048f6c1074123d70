"""Open a step of the guide, dismiss the panel, and bring it back."""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from suffice.access.keys import Role
from suffice.server.ui import security
from suffice.server.ui.guide import COOKIE, STEPS, Guide, guide_of
from suffice.server.ui.page import PageContext, PageError, page


async def step(context: PageContext) -> Response:
    """Go to the page of a step and note that it was opened."""
    guide, n = guide_of(context.request), context.request.path_params["n"]
    if not 1 <= n <= len(STEPS):
        raise PageError(404, "Not found", "The guide has no such step.")
    done = replace(guide, done=guide.done | {n}, off=False)
    return _kept(context, STEPS[n - 1].path, done)


async def switch(context: PageContext) -> Response:
    """Dismiss the panel, or bring it back from its first step."""
    form = await context.form()
    off = form.get("show") != "1"
    return _kept(context, form.get("next", ""), Guide(frozenset(), off))


def _kept(context: PageContext, path: str, guide: Guide) -> Response:
    response = RedirectResponse(security.local_path(path), 303)
    secure = context.browser.secure
    security.set_cookie(response, COOKIE, guide.value, secure=secure, strict=True)
    return response


ROUTES = [
    Route("/guide/{n:int}", page(step, Role.VIEWER)),
    Route("/guide", page(switch, Role.VIEWER), methods=["POST"]),
]
