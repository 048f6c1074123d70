"""`suffice show`: a recorded decision in the terminal, as JSON, or as Markdown for a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import click

from suffice import schema
from suffice.cli import as_json as to_json
from suffice.cli.options import Options, of_store
from suffice.cli.recording import show_record
from suffice.cli.show import show_gate
from suffice.cli.show_verdict import show_checked, show_verdict
from suffice.log.decision import UNGATED, Decision, decision_of
from suffice.text.one_line import one_line, without_controls
from suffice.types import Passage, Support, Verdict
from suffice.verdict.assess import ClaimStatus, claim_statuses

_LONGEST = 300
"""Characters of a passage that are quoted."""


def ticket(decision: Decision, id: str, time: str) -> str:
    """The decision as GitHub-flavoured Markdown."""
    verdict = decision.verdict
    parts = [f"## Suffice: {verdict.action.value if verdict else decision.gate.level.value}"]
    parts += ["\n".join(_facts(decision, id, time))]
    if verdict:
        parts += _answer(verdict)
        parts += _listed("Claims", [_claim(status) for status in claim_statuses(verdict)])
    missing = verdict.missing if verdict else decision.gate.missing
    parts += _listed("Not covered by the documents", [span(one) for one in missing])
    passages = decision.evidence.passages
    parts += _listed("Evidence", [_passage(one) for one in passages], numbered=True)
    steps = [span(step) for step in decision.gate.next_steps]
    parts += _listed("Next steps", [] if verdict and verdict.served else steps)
    parts.append(f"Replay it with `suffice audit replay {id}`.")
    return "\n\n".join(parts)


def span(text: str) -> str:
    """Any text as a code span on one line."""
    line = one_line(without_controls(text))
    fence = "`" * (_longest_run(line) + 1)
    if not line:
        return ""
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def block(text: str) -> str:
    """Any text as a code block."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}text\n{without_controls(text)}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _facts(decision: Decision, id: str, time: str) -> Iterator[str]:
    verdict, gate = decision.verdict, decision.gate
    if decision.evidence.question:
        yield f"- Question: {span(decision.evidence.question)}"
    reason = verdict.reason if verdict else "; ".join(gate.reasons)
    yield f"- Reason: {span(reason)}"
    if gate.policy != UNGATED:
        yield f"- Evidence: {gate.level.value} ({span(gate.policy)}, score {gate.score:.2f})"
    if verdict:
        shares = {
            "confidence": verdict.confidence,
            "faithfulness": verdict.faithfulness,
            "share checked": verdict.share_read,
        }
        known = [f"{name} {value:.2f}" for name, value in shares.items() if value is not None]
        yield f"- Scores: {', '.join(known)}"
        yield from (f"- Note: {span(note)}" for note in verdict.notes)
    yield f"- Record: `{id}`, {time}"


def _answer(verdict: Verdict) -> list[str]:
    if verdict.served:
        parts = ["### Answer", block(verdict.released)]
        drafted = verdict.draft.text if verdict.draft else ""
        if drafted and drafted != verdict.released:
            parts += ["### Draft, as written by the model", block(drafted)]
        return parts
    if verdict.draft is None or not verdict.draft.text:
        return []
    return ["### Draft, not released", block(verdict.draft.text)]


def _claim(status: ClaimStatus) -> str:
    cited = "".join(f" [{n}]" for n in status.claim.cites)
    line = f"**{status.support.value}** {span(status.claim.text)}{cited}"
    return line if status.support is Support.BACKED else f"{line}: {span(status.reason)}"


def _passage(passage: Passage) -> str:
    named = [passage.title or passage.document, *passage.heading]
    version = f", version {span(passage.version)}" if passage.version else ""
    short = passage.text[:_LONGEST]
    more = "…" if len(passage.text) > _LONGEST else ""
    return f"{span(' > '.join(named))} ({span(passage.id)}{version})\n\n   {span(short + more)}"


def _listed(title: str, lines: Sequence[str], *, numbered: bool = False) -> list[str]:
    if not lines:
        return []
    marked = [f"{n}. {line}" if numbered else f"- {line}" for n, line in enumerate(lines, 1)]
    return [f"### {title}", "\n".join(marked)]


@click.command()
@click.argument("record", metavar="RECORD")
@click.option("--md", "as_markdown", is_flag=True, help="Print Markdown, to paste into a ticket.")
@of_store
def show(options: Options, record: str, as_markdown: bool) -> int:
    """Show the decision with this record id or number: verdict, claims and evidence.

    `suffice audit show` lists the records, and shows the raw fields of one.
    """
    entry = options.log().entry(record)
    decision = decision_of(entry)
    if as_markdown:
        click.echo(ticket(decision, entry.id, entry.time))
    elif options.as_json:
        to_json.show({**_as_json(decision), "record": entry.id})
    else:
        _show(decision)
        show_record(entry.id)
    return 0


def _as_json(decision: Decision) -> dict[str, object]:
    shown: schema.FullGate | schema.CheckedAnswer | schema.Answer
    question: dict[str, object] = {}
    if decision.verdict is None:
        question = {"question": decision.evidence.question}
        shown = schema.FullGate.of(decision.gate)
    elif decision.gate.policy == UNGATED:
        shown = schema.CheckedAnswer.of(decision.verdict)
    else:
        shown = schema.Answer.of(decision.verdict)
    return {**question, **schema.tree(shown)}


def _show(decision: Decision) -> None:
    if decision.verdict is None:
        show_gate(decision.gate, decision.evidence)
    elif decision.gate.policy == UNGATED:
        show_checked(decision.verdict)
    else:
        show_verdict(decision.verdict)
