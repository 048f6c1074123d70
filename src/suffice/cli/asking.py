"""What `ask` and `search` share: a question, the documents it is put to, and the filter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.options import check_collection, common, open_library, piped
from suffice.cli.progress import bars
from suffice.cli.recording import NO_RECORD, Wish, recorder
from suffice.cli.show import show_failures
from suffice.errors import SourceMissing
from suffice.evidence.documents import StoredDocuments
from suffice.evidence.index import Filter
from suffice.evidence.ingest import Report
from suffice.evidence.library import Library
from suffice.evidence.search import Search
from suffice.models.catalog import open_verifier
from suffice.settings import CollectionSettings, read_settings
from suffice.text.asked import checked_question
from suffice.types import Kind

if TYPE_CHECKING:
    from suffice.pipeline import Pipeline

_DAY = click.DateTime(["%Y-%m-%d"])


@dataclass(frozen=True, slots=True)
class OpenedQuestion:
    """A question with everything opened that it takes to answer it."""

    question: str
    search: Search
    library: Library
    settings: CollectionSettings
    as_json: bool
    skipped: tuple[str, ...] = ()
    """Files that could not be read, each with its reason."""
    wish: Wish | None = None
    """How what is decided is recorded; `None`: not at all."""

    def pipeline(self, settings: CollectionSettings | None = None) -> Pipeline:
        """What answers it; in another way than the collection's, where `settings` say so."""
        from suffice.pipeline import Pipeline  # a search does without gate and checks
        from suffice.record.setup import Setup

        own, chosen = self.library.settings, settings or self.settings
        embedder, verifier = self.library.embedder, open_verifier(own.verifier, "", chosen.draft)
        documents = StoredDocuments(self.library.store, self.search.allowed)
        pipeline = Pipeline.of(self.search, embedder, chosen, verifier, documents)
        if self.wish is None:
            return pipeline
        setup = Setup.of(own, chosen, embedder.id, verifier.id)
        kept = recorder(self.library.store.database, own, self.wish, setup)
        return replace(pipeline, record=kept)


def asking(
    command: Callable[..., int], own: tuple[str, ...] = ("policy", "llm", "model")
) -> Callable[..., int]:
    """Gives a command the question and its options, and calls it with them opened; its `own`
    options are passed on as they are."""

    @wraps(command)
    def called(**options: Any) -> int:
        kept = {name: options.pop(name) for name in own if name in options}
        return command(_open(**options), **kept)

    kinds = click.Choice([kind.value for kind in Kind])
    decorators = [
        click.argument("question"),
        click.option("--docs", help="A folder, a file or - for standard input; indexed as needed."),
        click.option("--strict", is_flag=True, help="Stop at a file that cannot be read."),
        click.option("--label", "labels", multiple=True, help="Access label you hold."),
        click.option("--as-of", type=_DAY, metavar="DATE", help="In force on that day."),
        click.option("--history", is_flag=True, help="Also what is no longer in force."),
        click.option("--kind", "kinds", multiple=True, type=kinds, help="Only this kind."),
        click.option("--top", type=click.IntRange(1, 1000), help="How many passages."),
        common,
    ]
    wrapped: Callable[..., int] = called
    for decorate in reversed(decorators):
        wrapped = decorate(wrapped)
    return wrapped


def _open(
    question: str,
    docs: str | None,
    strict: bool,
    labels: tuple[str, ...],
    as_of: datetime | None,
    history: bool,
    kinds: tuple[str, ...],
    top: int | None,
    config: str | None,
    store: str | None,
    collection: str,
    as_json: bool,
    quiet: bool,
    wish: Wish = NO_RECORD,
) -> OpenedQuestion:
    question = checked_question(question)
    settings = read_settings(config)
    wanted = wish.wanted(settings, kept=store is not None or docs is None)
    if docs == "-" and store is None:
        # What is only piped in leaves no trace.
        if wish.record:
            raise SourceMissing(
                "What is piped in leaves no trace, and no record.", remedy="Name a --store."
            )
        wanted = False
        folder = click.get_current_context().with_resource(TemporaryDirectory())
        store = str(Path(folder) / "suffice.db")
    library = open_library(settings, store, docs)
    report = Report()
    if docs is not None:
        report = bring_in(library, docs, collection, strict=strict, quiet=quiet or as_json)
    check_collection(library.store, collection)
    allowed = Filter(
        as_of=as_of.date() if as_of else None,
        history=history,
        collection=collection,
        kinds=frozenset(map(Kind, kinds)),
        labels=frozenset(labels),
    )
    search = library.search(allowed, top=top)
    skipped = tuple(f"Skipped {failure.reason}" for failure in report.failures)
    own = settings.collection(collection)
    return OpenedQuestion(
        question, search, library, own, as_json, skipped, wish if wanted else None
    )


def bring_in(library: Library, docs: str, collection: str, *, strict: bool, quiet: bool) -> Report:
    """The documents of a folder, a file or standard input, indexed; what could not be read is told,
    and it is an error where nothing could."""
    with bars(quiet=quiet) as progress:
        if docs == "-":
            data = piped(library.settings)
            return library.add_input(data, "stdin.md", collection=collection, progress=progress)
        report = library.add(docs, collection=collection, strict=strict, progress=progress)
    report.require_any(docs)
    show_failures(report)
    return report
