"""Browser security of the site: headers, cookies and CSRF tokens."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

BASE = "/ui"
SESSION, VISITOR, NOTICE = "suffice_session", "suffice_visitor", "suffice_notice"
"""Cookies: the session, an anonymous visitor, and a message for the next page."""
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With `no-referrer`, browsers would send `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_LONGEST_NOTICE = 500
_LONGEST_TOKEN = 100


def secured(response: Response) -> Response:
    """Add the security headers, unless the response already has them."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def csrf_token(secret: str, whose: str = "") -> str:
    """The CSRF token of a browser and person. Its secret is in an HttpOnly cookie."""
    return hmac.new(secret.encode(), f"csrf {whose}".encode(), hashlib.sha256).hexdigest()


def same_token(sent: str, expected: str) -> bool:
    return sent.isascii() and hmac.compare_digest(sent, expected)


def from_here(request: Request) -> bool:
    """Whether, according to the browser, a form was sent by a page of this site."""
    origin = request.headers.get("origin")
    if origin is not None:
        return bool(origin) and _netloc(origin) == request.headers.get("host", "").lower()
    return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


def from_elsewhere(request: Request) -> bool:
    """Whether, according to the browser, a page of another site, port or host made this request or
    links to it."""
    fetched_from = request.headers.get("sec-fetch-site", "")
    return not from_here(request) or fetched_from in ("cross-site", "same-site")


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def cookie(request: Request, name: str) -> str:
    """The value of a cookie; empty if it is missing or invalid."""
    value = request.cookies.get(name, "")
    return value if value.isascii() and len(value) <= _LONGEST_TOKEN else ""


def set_cookie(
    response: Response, name: str, value: str, *, secure: bool, strict: bool = False
) -> None:
    """Set an HttpOnly session cookie for this site only."""
    response.set_cookie(
        name,
        value,
        path=BASE,
        secure=secure,
        httponly=True,
        samesite="strict" if strict else "lax",
    )


def delete_cookie(response: Response, name: str, *, secure: bool) -> None:
    response.delete_cookie(name, path=BASE, secure=secure, httponly=True, samesite="lax")


def encrypted(request: Request, behind_proxy: bool) -> bool:
    """Whether the browser uses HTTPS, here or at a trusted proxy."""
    forwarded = request.headers.get("x-forwarded-proto", "") if behind_proxy else ""
    return (forwarded or request.url.scheme).lower() == "https"


def sealed_notice(text: str, csrf: str) -> str:
    """A message as a signed cookie value, which other sites of the domain cannot forge."""
    body = base64.urlsafe_b64encode(text[:_LONGEST_NOTICE].encode()).decode().rstrip("=")
    return f"{body}.{_seal(body, csrf)}"


def opened_notice(value: str, csrf: str) -> str:
    body, _, seal = value.partition(".")
    if not value.isascii() or not hmac.compare_digest(seal, _seal(body, csrf)):
        return ""
    try:
        return base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""


def _seal(body: str, csrf: str) -> str:
    return hmac.new(csrf.encode(), f"notice {body}".encode(), hashlib.sha256).hexdigest()


def local_path(path: str, default: str = f"{BASE}/") -> str:
    """A path of this site, or the default for anything else, to prevent open redirects."""
    plain = path.isascii() and path.isprintable() and not set(path) & set("\\ <>\"'")
    inside = path == BASE or path.startswith((f"{BASE}/", f"{BASE}?"))
    return path if plain and inside and "//" not in path else default


@dataclass(eq=False)
class PageError(Exception):
    """An error page: what happened and what to do."""

    status: int
    title: str
    message: str
    remedy: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message


def busy(message: str) -> PageError:
    """The error while another job, of which one runs at a time, has not ended."""
    return PageError(503, "Busy", message, "Try again when it has ended.", {"Retry-After": "10"})
