"""`suffice index`: index documents into a store."""

from __future__ import annotations

from dataclasses import replace

import click

from suffice.cli import as_json as to_json
from suffice.cli.options import common, open_library, piped
from suffice.cli.progress import bars
from suffice.cli.recording import librarian
from suffice.cli.show import show_report
from suffice.errors import SourceMissing
from suffice.evidence.ingest import Report
from suffice.evidence.remote import check_source
from suffice.settings import read_settings


@click.command()
@click.argument("sources", nargs=-1, type=click.Path())
@click.option("--rebuild", is_flag=True, help="Rebuild the index from the store.")
@click.option("--strict", is_flag=True, help="Fail on the first unreadable file.")
@click.option(
    "--name", default="stdin.md", show_default=True, help="Document name for standard input."
)
@common
def index(
    sources: tuple[str, ...],
    rebuild: bool,
    strict: bool,
    name: str,
    config: str | None,
    store: str | None,
    collection: str,
    as_json: bool,
    quiet: bool,
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
    library = open_library(read_settings(config), store, create=bool(sources))
    total, keeper = Report(), librarian(library)
    with bars(quiet=quiet) as progress:
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
    to_json.show(to_json.report(total)) if as_json else show_report(total)
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
