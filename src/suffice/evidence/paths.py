"""Where things lie that are derived: the search index, and the store of a folder that has none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from suffice.sql.database import Database


def cache_folder() -> Path:
    """The user's cache folder: what is in it can be made again."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "suffice"


def index_folder(database: Database, named: str, id: Callable[[], str]) -> Path:
    """Beside a file; for a store on a server in the cache folder, or in the folder named."""
    if named:
        return Path(named) / id()
    if database.path is None:
        return cache_folder() / f"{id()}.index"
    return database.path.with_name(database.path.name + ".index")
