"""Where a database is: a path, or a URL. Only what is shown may be shown: it has no password."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from suffice.errors import StoreUnreachable

if TYPE_CHECKING:
    from sqlalchemy import URL

_EXAMPLE = "postgresql://user:password@host/name"
_SECRETS = ("password", "sslpassword", "passfile")


@dataclass(frozen=True, slots=True)
class Server:
    """A PostgreSQL database; `shown` is its URL with the password masked."""

    url: URL
    shown: str


def address(where: str | Path) -> Path | Server:
    """What a person wrote as the place of a store: `suffice.db`, `sqlite:///suffice.db`,
    `postgresql://…`."""
    if isinstance(where, Path) or "://" not in where:
        return Path(where)
    scheme = where.partition("://")[0].lower()
    if scheme == "sqlite":
        return Path(where[len("sqlite://") :].removeprefix("/"))
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        return _server(where)
    raise StoreUnreachable(
        f"{masked(where)} is no database Suffice knows.",
        remedy=f"Name a file, or a URL such as {_EXAMPLE}",
    )


def is_url(where: str | Path) -> bool:
    """Whether it is a server that is meant, and not a file."""
    return isinstance(where, str) and isinstance(address(where), Server)


def masked(where: str) -> str:
    """A URL with no password in it, whatever else may be wrong with it."""
    hidden = re.sub(r"(://[^:]*):.*@", r"\1:***@", where, flags=re.DOTALL)
    return re.sub(rf"([?&](?:{'|'.join(_SECRETS)})=)[^&]*", r"\1***", hidden)


def _server(where: str) -> Server:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise StoreUnreachable(
            f"{masked(where)} is not a URL.", remedy=f"Write it as {_EXAMPLE}"
        ) from None
    return Server(url.set(drivername="postgresql+psycopg"), masked(where))
