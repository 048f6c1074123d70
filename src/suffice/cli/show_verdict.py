"""Render the verdict on a question in the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from suffice.cli.show import origin, panel, plain, quote_line, show_notes, uncovered
from suffice.gate.policies.tiers import counted
from suffice.schema import highlights
from suffice.text.one_line import one_line, without_controls
from suffice.types import Action, Citation, Draft, Passage, Source, Support, Verdict
from suffice.verdict.assess import ClaimStatus, claim_statuses
from suffice.verdict.wording import steps

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
    head.append_text(plain(one_line(status.claim.text), style))
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
    before, within, behind = (one_line(f"·{part}·")[1:-1] for part in status.quote)
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


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE].rstrip()}…"


_MARKS = re.compile(r"[*_`|\n]")
_CODE_OR_TAG = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)|<(?=[a-zA-Z/!?])", re.DOTALL)


def show_verdict(verdict: Verdict, console: Console | None = None) -> None:
    """Print the answer with its sources, or the refusal with next steps."""
    console = console or Console()
    console.print(_served(verdict) if verdict.served else _withheld(verdict))
    show_notes(console, verdict.notes, verdict.gate, verdict.reason)


def _served(verdict: Verdict) -> RenderableType:
    text = _no_tags(without_controls(_lit(verdict)))
    parts: list[RenderableType] = [Markdown(text), Text()]
    parts += [_citation(citation) for citation in verdict.citations]
    if verdict.missing:
        parts.append(uncovered(verdict.missing, "yellow"))
    parts.append(Text(verdict.reason, style="dim"))
    return _panel(verdict, parts, "green")


def _lit(verdict: Verdict) -> str:
    """The answer with the sentences in bold that answer the question, unless they are all of it."""
    text = verdict.released
    for sentence in highlights(verdict):
        plain = not _MARKS.search(sentence)
        if plain and sentence != re.sub(r"(?<!\s)\s*+\[\d+\]$", "", text):
            text = text.replace(sentence, f"**{sentence}**", 1)
    return text


def _no_tags(text: str) -> str:
    """Escape tag-like text, which Markdown would drop, as in "git checkout <branch>"."""
    return _CODE_OR_TAG.sub(lambda found: found[1] or r"\<", text)


def _withheld(verdict: Verdict) -> RenderableType:
    parts: list[RenderableType] = [plain(verdict.reason)]
    if verdict.action is Action.REVIEW:
        parts += _for_review(verdict)
    if verdict.missing:
        parts += [Text(), uncovered(verdict.missing)]
    if verdict.nearest:
        parts += [Text(), Text("Nearest sources", style="bold"), _sources(verdict.nearest)]
    parts += [Text(), Text("Next steps", style="bold")]
    parts += [Padding(plain(step, "dim"), (0, 0, 0, 2)) for step in steps(verdict.gate)]
    return _panel(verdict, parts, "yellow")


def _for_review(verdict: Verdict) -> list[RenderableType]:
    """What a person needs to decide: the draft with the passages behind its claims, or the best
    passage if nothing was drafted."""
    if verdict.draft:
        return [Text(), Text("Draft, not released", style="bold"), *draft_lines(verdict)]
    if not verdict.evidence.items:
        return []
    best = verdict.evidence.passages[0]
    text = Padding(plain(best.text.strip(), "italic"), (0, 0, 0, 4))
    return [Text(), Text("Best passage", style="bold"), origin("[1]", best), text]


def _panel(verdict: Verdict, parts: list[RenderableType], colour: str) -> RenderableType:
    gate, chance = verdict.gate, verdict.confidence
    sure = "" if chance is None else f"confidence {chance:.2f} · "
    figures = f"{sure}evidence {gate.level.value.lower()} · {gate.policy} {gate.score:.2f}"
    return panel(verdict.action.value, colour, parts, figures)


def _citation(citation: Citation) -> RenderableType:
    quote = plain(f"“{quote_line(citation.quote)}”", "italic")
    return Group(origin(f"[{citation.n}]", citation.passage), Padding(quote, (0, 0, 1, 4)))


def _sources(sources: Sequence[Source]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for source in sources:
        name = plain(" > ".join((source.title, *source.heading)))
        near = "" if source.relevance is None else f"similarity {source.relevance:.2f}"
        table.add_row("", name, plain(source.document, "dim"), Text(near, "dim", no_wrap=True))
    return table
