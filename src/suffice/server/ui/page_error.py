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
