"""Errors that are shown as a page."""

from __future__ import annotations

from collections.abc import Mapping


class PageError(Exception):
    """An error page: what happened and what to do."""

    def __init__(
        self,
        status: int,
        title: str,
        message: str,
        remedy: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.title = title
        self.message = message
        self.remedy = remedy
        self.headers = dict(headers or {})


def too_many_attempts(seconds: float) -> PageError:
    """The error for an attempt after too many failures."""
    shown = max(int(seconds + 0.999), 1)
    return PageError(
        429,
        "Too many attempts",
        "There were too many failed attempts to sign in or to change the password.",
        f"Try again in {shown} s.",
        {"Retry-After": str(shown)},
    )
