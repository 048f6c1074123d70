"""Render the verdict on a question in the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from suffice.cli.show import CONTROL, one_line, origin, panel, plain, show_notes, uncovered
from suffice.cli.show_check import draft_lines
from suffice.serialize import highlights
from suffice.types import Action, Citation, Source, Verdict
from suffice.verdict.wording import steps

_MARKS = re.compile(r"[*_`|\n]")
_CODE_OR_TAG = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)|<(?=[a-zA-Z/!?])", re.DOTALL)


def show_verdict(verdict: Verdict, console: Console | None = None) -> None:
    """Print the answer with its sources, or the refusal with next steps."""
    console = console or Console()
    console.print(_served(verdict) if verdict.served else _withheld(verdict))
    show_notes(console, verdict.notes, verdict.gate, verdict.reason)


def _served(verdict: Verdict) -> RenderableType:
    text = _no_tags(CONTROL.sub("", _lit(verdict)))
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
    quote = plain(f"“{one_line(citation.quote)}”", "italic")
    return Group(origin(f"[{citation.n}]", citation.passage), Padding(quote, (0, 0, 1, 4)))


def _sources(sources: Sequence[Source]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for source in sources:
        name = plain(" > ".join((source.title, *source.heading)))
        near = "" if source.relevance is None else f"similarity {source.relevance:.2f}"
        table.add_row("", name, plain(source.document, "dim"), Text(near, "dim", no_wrap=True))
    return table
