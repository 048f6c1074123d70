"""`suffice search`: show the passages retrieved for a question, with their raw scores."""

from __future__ import annotations

from dataclasses import replace

import click

from suffice.cli import as_json as to_json
from suffice.cli.asking import OpenedQuestion, asking
from suffice.cli.show import show_evidence
from suffice.evidence.flags import flag_exclusions, flag_notes
from suffice.text.asked import unnamed
from suffice.types import Evidence


@click.command()
@asking
def search(asked: OpenedQuestion) -> int:
    """Search for the passages most relevant to QUESTION.

    Exit code 0: passages found. 2: none found. 1: error.
    """
    subject = unnamed(asked.settings.subject, asked.question)
    question = Evidence(asked.question, subject=subject)
    found = asked.search(question.in_context(asked.question))
    evidence = replace(found, question=asked.question, subject=subject)
    notes = (*evidence.notes, *flag_notes(evidence), *asked.skipped)
    evidence = replace(evidence, notes=notes)
    if asked.as_json:
        left_out = to_json.excluded(flag_exclusions(evidence))
        to_json.show({**to_json.evidence(evidence), "excluded": left_out})
    else:
        show_evidence(evidence)
    return 0 if evidence.items else 2
