"""`suffice search`: the passages found for a question, with their raw scores."""

from __future__ import annotations

from datetime import datetime

import click

from suffice.cli import as_json as to_json
from suffice.cli.index import add_quietly
from suffice.cli.options import Scope, common, open_library, scope, settings_of
from suffice.cli.show import show_evidence
from suffice.pipeline import checked_question


@click.command()
@click.argument("question")
@scope
@common
def search(
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
    """Find the passages nearest to QUESTION. Exit code 2: none found."""
    question = checked_question(question)
    wanted = Scope(docs, strict, labels, as_of, history, kinds)
    settings = settings_of(config, top=top)
    library = open_library(settings, store, docs)
    if docs is not None:
        add_quietly(library, docs, collection, strict=strict, quiet=quiet or as_json)
    evidence = library.search(wanted.allowed(collection))(question)
    if as_json:
        to_json.show(to_json.evidence(evidence))
    else:
        show_evidence(evidence)
    return 0 if evidence.items else 2
