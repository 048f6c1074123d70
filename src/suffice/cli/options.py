"""Options shared by several commands, and the store and library they open."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import click

from suffice.cli.store_options import JSON, QUIET, STORE, F, naming_options, with_options
from suffice.errors import CollectionMissing
from suffice.evidence.library import Library
from suffice.evidence.paths import cache_folder
from suffice.evidence.remote import check_source, is_url
from suffice.evidence.store import Store
from suffice.settings import Settings

DEFAULT = "default"


def common(command: F) -> F:
    """Add `--config`, `--store`, `--collection`, `--json` and `--quiet`."""
    collection = click.option(
        "--collection", default=DEFAULT, show_default=True, help="Collection name."
    )
    return with_options(command, *STORE, collection, JSON, QUIET)


def open_library(
    settings: Settings, store: str | None, docs: str | None = None, *, create: bool = False
) -> Library:
    """Open the given store, else with `--docs` a cached store, else the configured store."""
    if docs is not None and docs != "-":
        check_source(docs)
    if store is None and docs is not None:
        return Library.open(cached_store(docs), settings, create=True)
    with naming_options():
        return Library.open(store or settings.store, settings, create=create or docs is not None)


def check_collection(store: Store, name: str) -> None:
    """Reject an unknown collection name: it is more likely a typo than an empty collection."""
    known = store.collections()
    if name == DEFAULT or name in known:
        return
    listed = f"Existing collections: {', '.join(known)}. " if known else ""
    raise CollectionMissing(
        f"The store has no collection '{name}'.",
        remedy=f"{listed}To create it, run: suffice index SOURCE --collection {name}",
    )


def piped(settings: Settings) -> bytes:
    """Read standard input up to one byte over the size limit, so that excess can be detected."""
    return sys.stdin.buffer.read(settings.read.max_bytes + 1)


def cached_store(docs: str | Path) -> Path:
    """The store for `--docs` in the cache folder, one for each document folder."""
    place = docs if is_url(docs) else Path(docs).resolve()
    digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
    return cache_folder() / digest / "suffice.db"
