"""Options that several commands share, and what they open."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from suffice.errors import CollectionMissing
from suffice.evidence.library import Library
from suffice.evidence.paths import cache_folder
from suffice.evidence.sources import check_exists
from suffice.evidence.store import Store
from suffice.settings import Settings

DEFAULT = "default"
F = TypeVar("F", bound=Callable[..., Any])


def common(command: F) -> F:
    """`--config`, `--store`, `--collection`, `--json`, `--quiet`."""
    options = [
        click.option("--config", type=click.Path(), help="Settings file (default: suffice.yaml)."),
        click.option(
            "--store",
            metavar="FILE_OR_URL",
            help="File or URL (default: suffice.db).",
        ),
        click.option("--collection", default=DEFAULT, show_default=True, help="Named set."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--quiet", is_flag=True, help="No progress bars."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def open_library(
    settings: Settings, store: str | None, docs: str | None = None, *, create: bool = False
) -> Library:
    """The store named, or the settings', or for `--docs` alone one in the cache folder."""
    if docs is not None and docs != "-":
        check_exists(Path(docs))
    if store is None and docs is not None:
        return Library.open(cached_store(Path(docs)), settings, create=True)
    return Library.open(store or settings.store, settings, create=create or docs is not None)


def check_collection(store: Store, name: str) -> None:
    """A name nobody indexed under is more likely a slip than a wish for no answer."""
    known = store.collections()
    if name == DEFAULT or name in known:
        return
    listed = f"There are: {', '.join(known)}. " if known else ""
    raise CollectionMissing(
        f"There is no collection '{name}' in the store.",
        remedy=f"{listed}To make it, run: suffice index SOURCE --collection {name}",
    )


def piped(settings: Settings) -> bytes:
    """Standard input, read no further than it takes to see that it is too much."""
    return sys.stdin.buffer.read(settings.read.max_bytes + 1)


def cached_store(docs: Path) -> Path:
    """Where the index of a folder is kept when no store is named: one file a folder."""
    digest = hashlib.sha256(os.fsencode(docs.resolve())).hexdigest()[:16]
    return cache_folder() / digest / "suffice.db"
