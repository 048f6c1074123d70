"""The MCP server over streamable HTTP."""

from __future__ import annotations

from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer

from suffice.errors import SettingsError
from suffice.server.desk import Desk
from suffice.settings import ServerSettings

_LOCAL = ("127.0.0.1", "localhost", "::1")


def serve_http(
    server: MCPServer[Any], desk: Desk, settings: ServerSettings, host: str, port: int
) -> None:
    """Serves until it is stopped. Each request stands for itself: no session is kept, so any
    process can answer it."""
    if host not in _LOCAL:
        raise SettingsError(
            f"The MCP server asks for no key, so it is not offered on {host}.",
            remedy="Use --host 127.0.0.1.",
        )
    app = server.streamable_http_app(
        stateless_http=True, max_request_body_size=settings.limits.body_bytes, host=host
    )
    uvicorn.run(app, host=host, port=port, log_level="warning")
