"""Render a checked answer in the terminal: claims coloured by support, with reasons."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from suffice.cli.show import panel, plain
from suffice.gate.policies.similarity import counted
from suffice.types import Action, Draft, Passage, Support, Verdict
from suffice.verdict.claim_status import ClaimStatus, claim_statuses

_STYLES = {
    Support.BACKED: "green",
    Support.CONTRADICTED: "red",
    Support.UNBACKED: "yellow",
    Support.UNCHECKED: "bright_black",
}
_SIGNS = {
    Support.BACKED: "✓",
    Support.CONTRADICTED: "✗",
    Support.UNBACKED: "?",
    Support.UNCHECKED: "·",
}
_ACTIONS = {Action.SERVE: "green", Action.WITHHOLD: "red"}
_LONGEST_QUOTE = 300


def show_checked(verdict: Verdict, console: Console | None = None) -> None:
    """Print the answer, then every claim with its reason and source."""
    console = console or Console()
    parts = draft_lines(verdict)
    parts.append(plain(verdict.reason, "bold"))
    colour = _ACTIONS.get(verdict.action, "yellow")
    console.print(panel(verdict.action.value, colour, parts, _figures(verdict)))
    for note in verdict.notes:
        console.print(plain(note, "dim"))


def draft_lines(verdict: Verdict) -> list[RenderableType]:
    """The draft, then every claim with its judgement and source; empty without a draft."""
    if verdict.draft is None:
        return []
    found = claim_statuses(verdict)
    lines: list[RenderableType] = [_answer(verdict.draft, found), Text()]
    for status in found:
        lines += _claim(status)
    return lines


def _answer(draft: Draft, found: list[ClaimStatus]) -> Text:
    text, place, shown = draft.text, 0, Text()
    for status in found:
        shown.append_text(plain(text[place : status.claim.start], "dim"))
        shown.append_text(
            plain(text[status.claim.start : status.claim.end], _STYLES[status.support])
        )
        place = status.claim.end
    return shown.append_text(plain(text[place:], "dim"))


def _claim(status: ClaimStatus) -> list[RenderableType]:
    style = _STYLES[status.support]
    head = Text.assemble((f"{_SIGNS[status.support]} {status.word}", f"bold {style}"), "  ")
    head.append_text(plain(_one_line(status.claim.text), style))
    lines: list[RenderableType] = [plain(status.reason)] if status.reason else []
    if status.omitted:
        lines.append(plain(f"omits a condition: {status.omitted.reason}", "yellow"))
    if status.passage:
        lines.append(_source(status, *status.passage))
    if any(status.quote):
        lines.append(Padding(_quote(status), (0, 0, 0, 4)))
    return [head, Padding(Group(*lines), (0, 0, 1, 4))]


def _source(status: ClaimStatus, number: int, passage: Passage) -> Text:
    near = "nearest: " if status.nearest else ""
    about = [passage.declared and f"version {passage.declared}", passage.place]
    about += [passage.document] if passage.title not in ("", passage.document) else []
    name = passage.title or passage.document
    head = Text.assemble((near, "dim"), (f"[{number}] ", "bold cyan"), plain(name, "bold"))
    return head.append_text(plain("".join(f" · {part}" for part in about if part), "dim"))


def _quote(status: ClaimStatus) -> Text:
    """The source sentence with the decisive words highlighted."""
    before, within, behind = (_one_line(f"·{part}·")[1:-1] for part in status.quote)
    within = _shortened(within)
    text = plain(f"“{before[-_LONGEST_QUOTE:]}", "italic")
    style = "italic" if status.nearest else f"italic bold {_STYLES[status.support]}"
    return text.append_text(plain(within, style)).append_text(
        plain(f"{behind[:_LONGEST_QUOTE]}”", "italic")
    )


def _figures(verdict: Verdict) -> str:
    shares = {
        "confidence": verdict.confidence,
        "faithfulness": verdict.faithfulness,
        "facts": verdict.fact_score,
    }
    parts = [f"{name} {value:.2f}" for name, value in shares.items() if value is not None]
    grade = [verdict.grade.value] if verdict.grade else []
    passages = counted(len(verdict.evidence))
    return " · ".join([*grade, *parts, f"share checked {verdict.share_read:.2f}", passages])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE].rstrip()}…"
