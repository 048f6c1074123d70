"""`suffice index` and `suffice documents`: documents and their versions, in and out of a store."""

from __future__ import annotations

from dataclasses import replace

import click

from suffice.cli import as_json as to_json
from suffice.cli.options import (
    Options,
    check_collection,
    common,
    naming_options,
    piped,
)
from suffice.cli.recording import librarian
from suffice.cli.show import show_report, show_text, show_versions
from suffice.errors import DocumentMissing, SourceMissing
from suffice.evidence.index import today
from suffice.evidence.ingest import Report
from suffice.evidence.rows import VersionInfo, newest
from suffice.evidence.sources import check_source
from suffice.evidence.store import Store
from suffice.schema import Document, IndexReport, Version, version_fields


@click.group()
def documents() -> None:
    """List, show and retire documents and their versions."""


def _store(options: Options) -> Store:
    settings = options.settings
    with naming_options():
        store = Store.open(
            options.store or settings.store, wait=settings.store_wait_seconds, index=settings.index
        )
    check_collection(store, options.collection)
    return store


def _print(versions: list[VersionInfo], options: Options) -> None:
    if options.as_json:
        to_json.show([Version.of(version, today()) for version in versions])
    else:
        show_versions(versions, today())


@documents.command("list")
@common
def list_(options: Options) -> int:
    """List the documents, each with the version in force, else the newest version."""
    versions = _store(options).versions(collection=options.collection)
    _print(newest(versions, today()), options)
    return 0


@documents.command()
@click.argument("name")
@common
def history(options: Options, name: str) -> int:
    """List all versions of the document NAME, oldest first."""
    _print(_store(options).history(options.collection, name), options)
    return 0


@documents.command()
@click.argument("name")
@click.option("--version", help="Version to show (default: the version in force, else the newest).")
@common
def show(options: Options, name: str, version: str | None) -> int:
    """Show the stored text of the document NAME."""
    opened = _store(options)
    if version is None:
        named = newest(opened.versions(collection=options.collection, document=name), today())
    else:
        line = opened.history(options.collection, name)
        named = [v for v in line if version in (v.version, v.key)]
    if not named:
        raise DocumentMissing(
            f"'{name}' has no version '{version}'.",
            remedy=f"Run: suffice documents history {name}",
        )
    text = opened.text(options.collection, named[-1].document, named[-1].key, named[-1].access)
    if options.as_json:
        to_json.show(Document(**version_fields(named[-1], today()), text=text))
    else:
        show_text(named[-1], text, today())
    return 0


@documents.command()
@click.argument("name")
@common
def retire(options: Options, name: str) -> int:
    """Retire the document NAME as of today. Its versions stay in the store."""
    library = options.library()
    check_collection(library.store, options.collection)
    librarian(library).retire(name, collection=options.collection)
    _print(library.store.versions(collection=options.collection, document=name), options)
    return 0


@click.command()
@click.argument("sources", nargs=-1, type=click.Path())
@click.option("--rebuild", is_flag=True, help="Rebuild the index from the store.")
@click.option("--strict", is_flag=True, help="Fail on the first unreadable file.")
@click.option(
    "--name", default="stdin.md", show_default=True, help="Document name for standard input."
)
@common
def index(
    options: Options, sources: tuple[str, ...], rebuild: bool, strict: bool, name: str
) -> int:
    """Index SOURCES (folders, files, URLs, or - for standard input) into a store.

    Unchanged files are skipped, changed files become new versions, and deleted files are retired. A
    URL such as s3://bucket/folder needs the extra s3; its objects are compared by their ETag.
    Exit code 0: all files indexed. 2: unreadable files were skipped. 1: error.
    """
    if not sources and not rebuild:
        raise SourceMissing(
            "Nothing to index: no sources were given.",
            remedy="Run: suffice index FOLDER, or suffice index --rebuild",
        )
    for source in sources:
        if source != "-":
            check_source(source)
    library = options.library(create=bool(sources))
    total, keeper = Report(), librarian(library)
    collection = options.collection
    with options.progress() as progress:
        for place, source in enumerate(sources):
            anew = rebuild and place == 0
            if source == "-":
                data = piped(library.settings)
                done = keeper.read(
                    data, name, collection=collection, rebuild=anew, progress=progress
                )
            else:
                done = keeper.index(
                    source, collection=collection, strict=strict, rebuild=anew, progress=progress
                )
            total = _sum(total, done)
        if not sources:
            total = keeper.reindex(progress)
    to_json.show(IndexReport.of(total)) if options.as_json else show_report(total)
    return 2 if total.failures else 0


def _sum(first: Report, second: Report) -> Report:
    return replace(
        first,
        added=first.added + second.added,
        changed=first.changed + second.changed,
        unchanged=first.unchanged + second.unchanged,
        retired=first.retired + second.retired,
        embedded=first.embedded + second.embedded,
        failures=first.failures + second.failures,
        unread=first.unread + second.unread,
    )
