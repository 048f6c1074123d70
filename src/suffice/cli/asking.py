"""Arguments shared by `ask`, `gate` and `search`: the question, the documents and the filter."""

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
from suffice.settings import (
    CollectionSettings,
    DraftSettings,
    VerifierSettings,
    read_settings,
)
from suffice.text.asked import checked_question
from suffice.types import Kind

if TYPE_CHECKING:
    from suffice.pipeline import Pipeline

VERIFY = click.option(
    "--verify/--no-verify",
    default=True,
    help="With --llm: that LLM also verifies claims of which the verifier is unsure (default).",
)
_DAY = click.DateTime(["%Y-%m-%d"])


@dataclass(frozen=True, slots=True)
class OpenedQuestion:
    """A question with the search, library and settings that answer it."""

    question: str
    search: Search
    library: Library
    settings: CollectionSettings
    as_json: bool
    skipped: tuple[str, ...] = ()
    """Files that could not be read, each with its reason."""
    wish: Wish | None = None
    """How the decision is recorded; `None` disables recording."""
    verifier: VerifierSettings | None = None
    """Overrides the verifier of the library's settings."""

    def verified_by(self, draft: DraftSettings) -> OpenedQuestion:
        """The question with an LLM verifier: that of the settings, or else the drafter's."""
        verifier = self.library.settings.verifier
        llm = verifier.llm.by_drafter(draft.llm, draft.model, draft.key_env)
        return replace(self, verifier=replace(verifier, llm=llm))

    def pipeline(self, settings: CollectionSettings | None = None) -> Pipeline:
        """Return the pipeline for the question; `settings` overrides those of the collection."""
        # `search` needs neither gate nor checks.
        from suffice.pipeline import Pipeline
        from suffice.record.setup import Setup
        from suffice.record.suspension import settings_in_force, suspended_certificates

        own, database = self.library.settings, self.library.store.database
        own = replace(own, verifier=self.verifier or own.verifier)
        chosen = settings or self.settings
        chosen = settings_in_force(chosen, suspended_certificates(chosen, own, database))
        embedder, verifier = self.library.embedder, open_verifier(own.verifier, "", chosen.draft)
        documents = StoredDocuments(self.library.store, self.search.allowed)
        pipeline = Pipeline.of(self.search, embedder, chosen, verifier, documents)
        if self.wish is None:
            return pipeline
        setup = Setup.of(own, chosen, embedder.id, verifier.id)
        kept = recorder(database, own, self.wish, setup)
        return replace(pipeline, record=kept)


def asking(
    command: Callable[..., int], own: tuple[str, ...] = ("policy", "llm", "model", "verify")
) -> Callable[..., int]:
    """Add the shared arguments to a command and pass them to it as an `OpenedQuestion`; the
    options named in `own` are passed through unchanged."""

    @wraps(command)
    def called(**options: Any) -> int:
        kept = {name: options.pop(name) for name in own if name in options}
        return command(_open(**options), **kept)

    kinds = click.Choice([kind.value for kind in Kind])
    decorators = [
        click.argument("question"),
        click.option("--docs", help="Folder, file, or - for standard input; indexed if needed."),
        click.option("--strict", is_flag=True, help="Fail on the first unreadable file."),
        click.option(
            "--label", "labels", multiple=True, help="Access label you hold (repeatable)."
        ),
        click.option("--as-of", type=_DAY, metavar="DATE", help="Use versions in force on DATE."),
        click.option("--history", is_flag=True, help="Include versions no longer in force."),
        click.option(
            "--kind", "kinds", multiple=True, type=kinds, help="Only passages of this kind."
        ),
        click.option("--top", type=click.IntRange(1, 1000), help="Number of passages to retrieve."),
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
        # Piped documents are indexed in a temporary store, which is deleted afterwards.
        if wish.record:
            raise SourceMissing(
                "A decision on piped documents cannot be recorded without a store.",
                remedy="Add --store FILE_OR_URL.",
            )
        wanted = False
        folder = click.get_current_context().with_resource(TemporaryDirectory())
        store = str(Path(folder) / "suffice.db")
    library = open_library(settings, store, docs)
    report = Report()
    if docs is not None:
        report = bring_in(library, docs, collection, strict=strict, quiet=quiet)
    check_collection(library.store, collection)
    allowed = Filter(
        as_of=as_of.date() if as_of else None,
        history=history,
        collection=collection,
        kinds=frozenset(map(Kind, kinds)),
        labels=frozenset(labels),
    )
    search = library.search(allowed, top=top)
    skipped = tuple(f"Skipped: {failure.reason}" for failure in report.failures)
    own = settings.collection(collection)
    return OpenedQuestion(
        question, search, library, own, as_json, skipped, wish if wanted else None
    )


def bring_in(library: Library, docs: str, collection: str, *, strict: bool, quiet: bool) -> Report:
    """Index a folder, a file or standard input. Raise an error if no file can be read."""
    with bars(quiet=quiet) as progress:
        if docs == "-":
            data = piped(library.settings)
            return library.add_input(data, "stdin.md", collection=collection, progress=progress)
        report = library.add(docs, collection=collection, strict=strict, progress=progress)
    report.require_any(docs)
    show_failures(report)
    return report
