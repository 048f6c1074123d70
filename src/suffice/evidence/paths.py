"""Where derived data is stored: the search index, and the store for a `--docs` folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from suffice.sql.database import Database


def cache_folder() -> Path:
    """The user's cache folder, for data that can be rebuilt."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "suffice"


def index_folder(database: Database, named: str, id: Callable[[], str]) -> Path:
    """The index folder: as configured, or else beside a SQLite file or in the user's cache."""
    if named:
        return Path(named) / id()
    if database.path is None:
        return cache_folder() / f"{id()}.index"
    return database.path.with_name(database.path.name + ".index")
