"""CORS for the origins listed in the current settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

_EXPOSED = (
    *("x-suffice-verdict", "x-suffice-record", "x-request-id", "retry-after"),
    *(
        f"x-ratelimit-{part}-{what}"
        for part in ("limit", "remaining", "reset")
        for what in ("requests", "tokens")
    ),
)


class Cors:
    """Wraps the app in CORS middleware, which is rebuilt when the settings change. If no origins
    are listed, no CORS headers are sent."""

    def __init__(self, app: ASGIApp, origins: Callable[[], Sequence[str]]) -> None:
        self._app = app
        self._origins = origins
        self._made: tuple[Sequence[str], ASGIApp] = ((), app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_site(scope.get("path", "")):
            await self._app(scope, receive, send)
            return
        origins = self._origins()
        if origins != self._made[0]:
            self._made = (origins, self._middleware(origins) if origins else self._app)
        await self._made[1](scope, receive, send)

    def _middleware(self, origins: Sequence[str]) -> ASGIApp:
        return CORSMiddleware(
            self._app,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type", "x-api-key", "x-suffice-user-token"],
            expose_headers=list(_EXPOSED),
        )


def _is_site(path: str) -> bool:
    """Whether a path is that of a page: other sites' scripts may not read pages, whichever origins
    may call the API. A route may be called `ui`."""
    return path == "/ui" or (path.startswith("/ui/") and not path.startswith("/ui/v1/"))
