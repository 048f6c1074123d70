"""API errors in Anthropic's format: `{"type": "error", "error": {"type", "message"}}`."""

from __future__ import annotations

from typing import Any

from suffice.server.errors import ApiError, ErrorFormat

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def error_body(fault: ApiError) -> dict[str, Any]:
    """The response body, with `code` and `param` from OpenAI's format."""
    other = "invalid_request_error" if fault.status < 500 else "api_error"
    error: dict[str, Any] = {"type": _TYPES.get(fault.status, other), "message": fault.message}
    named = {"code": fault.code, "param": fault.param}
    error |= {name: value for name, value in named.items() if value}
    return {"type": "error", "error": error}


FORMAT = ErrorFormat(error_body, "error")
