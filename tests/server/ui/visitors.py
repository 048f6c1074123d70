"""Visitors without a browser: forms are sent as a page would send them."""

from __future__ import annotations

import re
from typing import Any

import httpx2

from tests.server.gateway import RunningGateway
from tests.waiting import PATIENCE

PASSWORD = "correct horse battery"


class Visitor(httpx2.Client):
    """One browser profile: keeps cookies, follows nothing, and knows the token of its forms."""

    def __init__(self, site: RunningGateway, **headers: str) -> None:
        super().__init__(base_url=site.url, headers=headers, timeout=PATIENCE)

    def __enter__(self) -> Visitor:
        return self  # signing in has opened it already

    def token(self, path: str = "/ui/sign-in?switch=1") -> str:
        found = re.search(r'name="csrf" value="([0-9a-f]{64})"', self.get(path).text)
        assert found, f"no form on {path}"
        return found[1]

    def sign_in(self, **fields: str) -> httpx2.Response:
        return self.post("/ui/sign-in", data={"csrf": self.token(), **fields})

    def submit(self, page: str, to: str, **fields: Any) -> httpx2.Response:
        """Fill in the form of a page and send it."""
        return self.post(to, data={"csrf": self.token(page), **fields})


def signed_in(site: RunningGateway, name: str, **headers: str) -> Visitor:
    visitor = Visitor(site, **headers)
    assert visitor.sign_in(name=name, password=PASSWORD).status_code == 303
    return visitor
