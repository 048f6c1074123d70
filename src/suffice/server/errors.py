"""API errors in OpenAI's format: `{"error": {"message", "type", "param", "code"}}`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.responses import Response

from suffice.errors import (
    AnswerError,
    CollectionMissing,
    DocumentMissing,
    EvidenceError,
    LabelNotHeld,
    ModelUnreachable,
    QuestionError,
    StoreError,
    Unreadable,
)

JSON_TYPE = "application/json"
EVENTS_TYPE = "text/event-stream"
DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


def encode(value: Any) -> bytes:
    return _encoder.encode(value)


def decode(data: bytes) -> Any:
    """Decode JSON; raise `ValueError` if it is invalid."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ValueError(str(problem)) from None


def event(value: Any, name: str = "") -> bytes:
    """Encode a server-sent event with an optional name."""
    head = f"event: {name}\n".encode() if name else b""
    return b"%bdata: %b\n\n" % (head, encode(value))


_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
    502: "upstream_error",
    504: "upstream_error",
}
_MODEL = (
    "A model that the gateway called did not return a usable reply. Try again later. If the "
    "problem persists, ask the operator of the gateway."
)
CLOSE = {"Connection": "close"}
"""The headers of a reply to a request whose rest is not read."""
_CALLER_ERRORS = (QuestionError, AnswerError, EvidenceError)


class ApiError(Exception):
    """An error that is returned to the caller as the response."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.headers = headers or {}

    @property
    def body(self) -> dict[str, Any]:
        """The response body."""
        other = "invalid_request_error" if self.status < 500 else "server_error"
        kind = _TYPES.get(self.status, other)
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": error}

    @property
    def response(self) -> Response:
        return OPENAI.response(self)


@dataclass(frozen=True, slots=True)
class ErrorFormat:
    """How an API reports errors: the response body, and the name of the event in a stream."""

    body: Callable[[ApiError], dict[str, Any]]
    name: str = ""

    def response(self, fault: ApiError) -> Response:
        return Response(
            encode(self.body(fault)), fault.status, dict(fault.headers), media_type=JSON_TYPE
        )

    def event(self, fault: ApiError) -> bytes:
        return event(self.body(fault), self.name)


_TIMED = {
    "gate_seconds": ("The search and the gate", "gate_timeout"),
    "check_seconds": ("The checks", "check_timeout"),
}
OPENAI = ErrorFormat(lambda fault: fault.body)


def bad(message: str, param: str | None = None, code: str | None = None) -> ApiError:
    """A 400 error: the request is invalid."""
    return ApiError(400, message, code, param)


def too_large(message: str, param: str | None = None) -> ApiError:
    """A 413 error: the request exceeds a limit of the gateway. The message names the limit."""
    return ApiError(413, message, "too_large", param)


def busy(message: str, seconds: float, code: str = "rate_limit_exceeded") -> ApiError:
    """A 429 error with a `Retry-After` header."""
    return ApiError(429, message, code, headers={"Retry-After": str(max(int(seconds + 0.999), 1))})


def too_slow(setting: str, seconds: float) -> ApiError:
    """A 504 error: the work was cancelled after the time that `setting` of the route allows."""
    work, code = _TIMED[setting]
    return ApiError(504, f"{work} took longer than {seconds:g} s ({setting} of the route).", code)


def fault_of(problem: Exception) -> ApiError:
    """Map an error of this package to an API error. Of others, nothing is told."""
    if isinstance(problem, ApiError):
        return problem
    if isinstance(problem, CollectionMissing):
        return ApiError(404, str(problem), "collection_not_found")
    if isinstance(problem, DocumentMissing):
        return ApiError(404, problem.message, "document_not_found")
    if isinstance(problem, LabelNotHeld):
        return ApiError(403, str(problem), "no_right")
    if isinstance(problem, Unreadable):
        return ApiError(422, str(problem), "unreadable")
    if isinstance(problem, _CALLER_ERRORS):
        return ApiError(400, str(problem), "invalid_value")
    if isinstance(problem, ModelUnreachable):
        # A remote model's error message is unchecked text and may contain its URL.
        return ApiError(502, _MODEL, "upstream_failed")
    if isinstance(problem, StoreError):
        # Store details are for the operator: they are logged, not returned to the caller.
        return ApiError(
            503, "The store is unavailable; the request was not processed.", "store_failed"
        )
    return ApiError(500, "Internal error; the request was not processed.", "internal_error")
