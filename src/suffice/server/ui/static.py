"""Static files of the site, read once. Their URLs contain a digest, so that browsers can cache
them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from suffice.server.roles import needs_no_role
from suffice.server.ui.security import BASE, secured

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_KEEP = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """The files and their digests, by name."""

    files: dict[str, bytes]
    digests: dict[str, str]

    @classmethod
    def load(cls) -> StaticFiles:
        folder = resources.files("suffice.server.ui") / "static"
        files = {
            entry.name: entry.read_bytes()
            for entry in folder.iterdir()
            if entry.name.rpartition(".")[2] in _TYPES
        }
        digests = {name: hashlib.sha256(body).hexdigest()[:12] for name, body in files.items()}
        return cls(files, digests)

    def url(self, name: str) -> str:
        """The URL of a file, for templates: `static("site.css")`."""
        return f"{BASE}/static/{name}?v={self.digests[name]}"

    @needs_no_role
    async def serve(self, request: Request) -> Response:
        name = request.path_params["name"]
        body = self.files.get(name)
        if body is None:
            return secured(Response("Not found.", 404, media_type="text/plain"))
        current = request.query_params.get("v") == self.digests[name]
        response = Response(body, media_type=_TYPES[name.rpartition(".")[2]])
        response.headers["Cache-Control"] = _KEEP if current else "no-cache"
        return secured(response)
