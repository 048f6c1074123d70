"""`suffice gate`: what the gate says of a question, and why, by any of its policies."""

from __future__ import annotations

from dataclasses import replace

import click

from suffice.cli import as_json as to_json
from suffice.cli.asking import OpenedQuestion, asking
from suffice.cli.recording import recorded, show_record
from suffice.cli.show import show_gate
from suffice.gate.policy import known_policy


@click.command()
@click.option("--policy", help="tiers, coverage, bound, checkpoint, reranked or learned.")
@recorded
@asking
def gate(asked: OpenedQuestion, policy: str | None) -> int:
    """Say whether the documents hold enough to answer QUESTION, without answering it.

    Exit code 0: open. 2: shut. 1: an error.
    """
    settings = asked.settings
    if policy:
        settings = replace(settings, gate=replace(settings.gate, policy=known_policy(policy)))
    evidence, decision = asked.pipeline(settings).find(asked.question)
    if asked.as_json:
        found = {"question": asked.question, **to_json.gate(decision)}
        notes = [*evidence.notes, *asked.skipped]
        to_json.show({**found, "notes": notes, "record": decision.record or None})
    else:
        show_gate(decision, evidence)
        show_record(decision.record)
    return 0 if decision.open else 2
