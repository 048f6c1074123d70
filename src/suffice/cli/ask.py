"""`suffice ask`: run the whole pipeline, from a question to a cited answer or a refusal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from suffice.cli import as_json as to_json
from suffice.cli.asking import VERIFY, OpenedQuestion, asking
from suffice.cli.recording import recorded, show_record
from suffice.cli.show_verdict import show_verdict
from suffice.types import Action, Verdict


@click.command()
@click.option("--llm", help="Drafter: extractive, or the base URL of an LLM endpoint.")
@click.option("--model", help="Model name at that endpoint.")
@VERIFY
@recorded
@asking
def ask(asked: OpenedQuestion, llm: str | None, model: str | None, verify: bool) -> int:
    """Answer QUESTION from documents with citations, or refuse and give the reason.

    Exit code 0: served. 2: withheld. 1: error.
    """
    own = asked.settings.draft
    draft = replace(own, llm=llm or own.llm, model=model or own.model)
    if llm and verify:
        asked = asked.verified_by(draft)
    verdict = asked.pipeline(replace(asked.settings, draft=draft)).answer(asked.question)
    verdict = replace(verdict, notes=(*verdict.notes, *asked.skipped)) if asked.as_json else verdict
    if asked.as_json:
        to_json.show({**to_json.verdict(verdict), "draft": _for_review(verdict)})
    else:
        show_verdict(verdict)
        show_record(verdict.record)
    return 0 if verdict.served else 2


def _for_review(verdict: Verdict) -> dict[str, Any] | None:
    """The draft that waits for a person, with the passages behind its claims; `None` otherwise."""
    if verdict.action is not Action.REVIEW or verdict.draft is None:
        return None
    found = to_json.checked(verdict)
    return {"text": found["answer"], "claims": found["claims"], "passages": found["passages"]}
