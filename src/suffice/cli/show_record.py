"""`suffice show`: a recorded decision in the terminal, as JSON, or as Markdown for a ticket."""

from __future__ import annotations

import click

from suffice.cli import as_json as to_json
from suffice.cli.of_store import of_store, open_log
from suffice.cli.recording import show_record
from suffice.cli.show import show_gate
from suffice.cli.show_check import show_checked
from suffice.cli.show_verdict import show_verdict
from suffice.cli.ticket import ticket
from suffice.record.decision import UNGATED, Decision, decision_of
from suffice.settings import read_settings


@click.command()
@click.argument("record", metavar="RECORD")
@click.option("--md", "as_markdown", is_flag=True, help="Print Markdown, to paste into a ticket.")
@of_store
def show(
    record: str, as_markdown: bool, config: str | None, store: str | None, as_json: bool
) -> int:
    """Show the decision with this record id or number: verdict, claims and evidence.

    `suffice audit show` lists the records, and shows the raw fields of one.
    """
    entry = open_log(read_settings(config), store).entry(record)
    decision = decision_of(entry)
    if as_markdown:
        click.echo(ticket(decision, entry.id, entry.time))
    elif as_json:
        to_json.show({**_as_json(decision), "record": entry.id})
    else:
        _show(decision)
        show_record(entry.id)
    return 0


def _as_json(decision: Decision) -> dict[str, object]:
    if decision.verdict is None:
        return {"question": decision.evidence.question, **to_json.gate(decision.gate)}
    if decision.gate.policy == UNGATED:
        return to_json.checked(decision.verdict)
    return to_json.verdict(decision.verdict)


def _show(decision: Decision) -> None:
    if decision.verdict is None:
        show_gate(decision.gate, decision.evidence)
    elif decision.gate.policy == UNGATED:
        show_checked(decision.verdict)
    else:
        show_verdict(decision.verdict)
