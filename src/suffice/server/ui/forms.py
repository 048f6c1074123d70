"""Read submitted forms within limits. Invalid input is always a client error."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qsl

from starlette.datastructures import ImmutableMultiDict
from starlette.requests import ClientDisconnect, Request

from suffice.server.errors import CLOSE
from suffice.server.ui.page_error import PageError

TYPE = "application/x-www-form-urlencoded"
_FIELDS = 2_000
_REMEDY = "Go back and send the form again."


async def read_form(request: Request, most: int, seconds: float) -> ImmutableMultiDict[str, str]:
    """The fields of a form. It is parsed in a thread, because it can be large."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != TYPE:
        raise PageError(
            415, "Form refused", "The content type of the form is not supported.", _REMEDY
        )
    try:
        async with asyncio.timeout(seconds):
            sent = await _bytes(request, most)
    except TimeoutError:
        late = "The form did not arrive in time."
        raise PageError(408, "Timed out", late, _REMEDY, CLOSE) from None
    except ClientDisconnect:
        raise PageError(
            400, "Form refused", "The form did not arrive completely.", _REMEDY
        ) from None
    try:
        return await asyncio.to_thread(_parsed, sent)
    except ValueError:
        raise PageError(
            400, "Form refused", "The form cannot be read: it is not valid UTF-8.", _REMEDY
        ) from None


async def _bytes(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise PageError(
                413,
                "Too large",
                f"The form exceeds the limit of {most:,} bytes.",
                "Send less text, or raise server.limits.body_bytes.",
            )
        parts.append(part)
    return b"".join(parts)


def _parsed(sent: bytes) -> ImmutableMultiDict[str, str]:
    pairs = parse_qsl(
        sent.decode("ascii"),
        keep_blank_values=True,
        encoding="utf-8",
        errors="strict",
        max_num_fields=_FIELDS,
    )
    # PostgreSQL cannot store NUL, and browsers send line breaks as CR LF.
    return ImmutableMultiDict(
        (name, value.replace("\x00", "\ufffd").replace("\r\n", "\n")) for name, value in pairs
    )
