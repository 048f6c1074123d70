"""What goes wrong, as OpenAI words it: `{"error": {"message", "type", "param", "code"}}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from suffice.errors import (
    AnswerError,
    CollectionMissing,
    EvidenceError,
    ModelUnreachable,
    QuestionError,
    StoreError,
    SufficeError,
)
from suffice.server.json_body import encode

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    408: "invalid_request_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    429: "rate_limit_error",
    502: "upstream_error",
    504: "upstream_error",
}
_ASKED = (QuestionError, AnswerError, EvidenceError)


@dataclass(frozen=True, slots=True)
class ApiError(Exception):
    """A request that is answered with an error."""

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def said(self) -> dict[str, Any]:
        kind = _TYPES.get(self.status, "server_error")
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": error}

    @property
    def response(self) -> Response:
        return Response(
            encode(self.said), self.status, dict(self.headers), media_type="application/json"
        )


def bad(message: str, param: str | None = None, code: str | None = None) -> ApiError:
    """The request is at fault."""
    return ApiError(400, message, code, param)


def busy(message: str, seconds: float, code: str = "rate_limit_exceeded") -> ApiError:
    """Too much is asked for now; the caller is told when to come again."""
    return ApiError(429, message, code, headers={"Retry-After": str(max(int(seconds + 0.999), 1))})


def fault_of(problem: SufficeError) -> ApiError:
    """Our own errors in the words of the API."""
    if isinstance(problem, CollectionMissing):
        return ApiError(404, str(problem), "collection_not_found")
    if isinstance(problem, _ASKED):
        return ApiError(400, str(problem), "invalid_value")
    if isinstance(problem, ModelUnreachable):
        return ApiError(502, str(problem), "upstream_failed")
    if isinstance(problem, StoreError):
        # What is wrong with a store is for its keeper; a caller is told that it is not the caller.
        return ApiError(503, "The store cannot be used now; nothing was answered.", "store_failed")
    return ApiError(
        500, "Something went wrong on our side; nothing was answered.", "internal_error"
    )
