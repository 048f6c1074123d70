"""`suffice documents`: list, show and retire documents and their versions."""

from __future__ import annotations

import click

from suffice.cli import as_json as to_json
from suffice.cli.options import check_collection, common, open_library
from suffice.cli.recording import librarian
from suffice.cli.show import show_text, show_versions
from suffice.cli.store_options import naming_options
from suffice.errors import DocumentMissing
from suffice.evidence.index import today
from suffice.evidence.rows import VersionInfo, newest
from suffice.evidence.store import Store
from suffice.settings import read_settings


@click.group()
def documents() -> None:
    """List, show and retire documents and their versions."""


def _store(config: str | None, store: str | None, collection: str) -> Store:
    settings = read_settings(config)
    with naming_options():
        opened = Store.open(
            store or settings.store, wait=settings.store_wait_seconds, index=settings.index
        )
    check_collection(opened, collection)
    return opened


def _print(versions: list[VersionInfo], as_json: bool) -> None:
    if as_json:
        to_json.show([to_json.version(version, today()) for version in versions])
    else:
        show_versions(versions, today())


@documents.command("list")
@common
def list_(
    config: str | None, store: str | None, collection: str, as_json: bool, quiet: bool
) -> int:
    """List the documents, each with the version in force, else the newest version."""
    _print(
        newest(_store(config, store, collection).versions(collection=collection), today()), as_json
    )
    return 0


@documents.command()
@click.argument("name")
@common
def history(
    name: str, config: str | None, store: str | None, collection: str, as_json: bool, quiet: bool
) -> int:
    """List all versions of the document NAME, oldest first."""
    versions = _store(config, store, collection).history(collection, name)
    _print(versions, as_json)
    return 0


@documents.command()
@click.argument("name")
@click.option("--version", help="Version to show (default: the version in force, else the newest).")
@common
def show(
    name: str,
    version: str | None,
    config: str | None,
    store: str | None,
    collection: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Show the stored text of the document NAME."""
    opened = _store(config, store, collection)
    if version is None:
        named = newest(opened.versions(collection=collection, document=name), today())
    else:
        line = opened.history(collection, name)
        named = [v for v in line if version in (v.version, v.key)]
    if not named:
        raise DocumentMissing(
            f"'{name}' has no version '{version}'.",
            remedy=f"Run: suffice documents history {name}",
        )
    text = opened.text(collection, named[-1].document, named[-1].key, named[-1].access)
    if as_json:
        to_json.show({**to_json.version(named[-1], today()), "text": text})
    else:
        show_text(named[-1], text, today())
    return 0


@documents.command()
@click.argument("name")
@common
def retire(
    name: str, config: str | None, store: str | None, collection: str, as_json: bool, quiet: bool
) -> int:
    """Retire the document NAME as of today. Its versions stay in the store."""
    library = open_library(read_settings(config), store)
    check_collection(library.store, collection)
    librarian(library).retire(name, collection=collection)
    _print(library.store.versions(collection=collection, document=name), as_json)
    return 0
