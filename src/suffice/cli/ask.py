"""`suffice ask`: the whole trip, from a question to a cited answer or a refusal that helps."""

from __future__ import annotations

from datetime import datetime

import click

from suffice.cli import as_json as to_json
from suffice.cli.index import add_quietly
from suffice.cli.options import Scope, common, open_library, scope, settings_of
from suffice.cli.show import show_verdict
from suffice.pipeline import Pipeline, checked_question


@click.command()
@click.argument("question")
@scope
@common
def ask(
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
) -> int:
    """Answer QUESTION from documents, with citations, or say why not.

    Exit code 0: served. 2: withheld. 1: an error.
    """
    question = checked_question(question)
    wanted = Scope(docs, strict, labels, as_of, history, kinds)
    settings = settings_of(config, top=top)
    library = open_library(settings, store, docs)
    if docs is not None:
        add_quietly(library, docs, collection, strict=strict, quiet=quiet or as_json)
    search = library.search(wanted.allowed(collection))
    pipeline = Pipeline.of(search, library.embedder, settings.collection(collection))
    verdict = pipeline.answer(question)
    if as_json:
        to_json.show(to_json.verdict(verdict))
    else:
        show_verdict(verdict)
    return 0 if verdict.served else 2
