"""`suffice gate`: show the gate's decision on a question and its reasons, under any policy."""

from __future__ import annotations

from dataclasses import replace

import click

from suffice.cli import as_json as to_json
from suffice.cli.asking import OpenedQuestion, asking
from suffice.cli.recording import recorded, show_record
from suffice.cli.show import show_gate
from suffice.gate.policies.policy import known_policy


@click.command()
@click.option(
    "--policy", help="Gate policy: tiers, coverage, bound, checkpoint, reranked or learned."
)
@recorded
@asking
def gate(asked: OpenedQuestion, policy: str | None) -> int:
    """Check whether the documents suffice to answer QUESTION, without answering it.

    Exit code 0: the gate is open. 2: closed. 1: error.
    """
    settings = asked.settings
    if policy:
        settings = replace(settings, gate=replace(settings.gate, policy=known_policy(policy)))
    evidence, decision = asked.pipeline(settings).retrieve_and_gate(asked.question)
    if asked.as_json:
        found = {"question": asked.question, **to_json.gate(decision)}
        notes = [*evidence.notes, *asked.skipped]
        to_json.show({**found, "notes": notes, "record": decision.record or None})
    else:
        show_gate(decision, evidence)
        show_record(decision.record)
    return 0 if decision.open else 2
