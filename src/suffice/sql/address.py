"""Database addresses: a path or a URL, and a form of the URL with passwords masked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from suffice.errors import StoreUnreachable

if TYPE_CHECKING:
    from suffice.sql.toolkit import URL

_EXAMPLE = "postgresql://user:password@host/name"
_SECRETS = ("password", "sslpassword", "passfile")


@dataclass(frozen=True, slots=True)
class Server:
    """A PostgreSQL database; `shown` is its URL with passwords masked."""

    url: URL
    shown: str


def address(where: str | Path) -> Path | Server:
    """Parse the address of a store: `suffice.db`, `sqlite:///suffice.db` or `postgresql://…`."""
    if isinstance(where, Path) or "://" not in where:
        return Path(where)
    scheme = where.partition("://")[0].lower()
    if scheme == "sqlite":
        return Path(where[len("sqlite://") :].removeprefix("/"))
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        return _server(where)
    raise StoreUnreachable(
        f"The database URL {masked(where)} is not supported.",
        remedy=f"Use a file path, or a URL such as {_EXAMPLE}",
    )


def masked(where: str) -> str:
    """A URL with its passwords masked; also works for malformed URLs."""
    hidden = re.sub(r"\A([^:]*://[^:]*):.*@", r"\1:***@", where, flags=re.DOTALL)
    return re.sub(rf"([?&](?:{'|'.join(_SECRETS)})=)[^&]*", r"\1***", hidden)


def _server(where: str) -> Server:
    from suffice.sql.toolkit import ArgumentError, make_url

    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise StoreUnreachable(
            f"The database URL {masked(where)} is invalid.", remedy=f"Use the form {_EXAMPLE}"
        ) from None
    return Server(url.set(drivername="postgresql+psycopg"), masked(where))
