"""The drafter in this process: SmolLM2, a real LLM of 135 million parameters.

It is shown little and led closely: the statement nearest to the question (from two or three it
takes the wrong one more often), one example, and a grammar in which every sentence begins with the
mark of its passage. What it writes is as untrusted as any draft, and it cannot tell when to
decline: it does where the extractive drafter would.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic

from suffice.draft.brief import PLAIN, Brief
from suffice.draft.extractive import Ranked
from suffice.draft.flags import flag_notes, flagged
from suffice.draft.prompt import against, objection
from suffice.draft.reading import read_draft
from suffice.draft.shown import Rank, Shown, excerpts
from suffice.errors import QuestionError
from suffice.models.llama import base_file
from suffice.models.llama_writer import LlamaWriter, Turn, Written, open_writer
from suffice.settings import DraftSettings
from suffice.text.fenced import quoted
from suffice.text.instructions import instructs
from suffice.types import Draft, Evidence, Passage

NAME = "SmolLM2-135M-Instruct"
WINDOW = 2048
_ROOM = 600
_TOKENS = 96

_SYSTEM = (
    "Answer the question in one sentence, in the words of the passages. Name the passage, like [1]."
)
_EXAMPLE = (
    Turn(
        "user",
        "[1] Parking: The car park opens at 6 am. Visitors pay 4 euros a day.\n"
        "[2] Canteen: Lunch is served from 11:30 to 14:00.\n\n"
        "Question: What does parking cost for visitors?",
    ),
    Turn("assistant", "According to [1], visitors pay 4 euros a day."),
)
# A full stop ends the sentence, unless it stands inside a number or a name such as "a.example".
_GRAMMAR = """\
root ::= "According to [" ({numbers}) "], " [a-zA-Z0-9] piece{{8,160}} "."
piece ::= [^.\\[\\]\\n] | [0-9] "." [0-9] | [a-z] "." [a-z]
"""
_LED = re.compile(r"According to \[(\d+)\], (.+)", re.DOTALL)
_TOO_LONG = "The question and its evidence are too long for the local model."
_BROKE_OFF = "The draft broke off at its limit of tokens."
_LATE = "The draft broke off at its limit of time."


@dataclass(frozen=True)
class Local:
    """The model loads on first use; calls from several threads wait for each other."""

    settings: DraftSettings
    rank: Rank
    """Which statements of the evidence it is shown."""
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)
    _opened: list[LlamaWriter] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def open(cls, settings: DraftSettings, rank: Rank) -> Local:
        base_file("The local LLM")  # a missing extra is told now, not at the first question
        return cls(settings, rank)

    def write(self, evidence: Evidence, brief: Brief = PLAIN) -> Draft:
        flags = flag_notes(flagged(evidence))
        ranked = self.rank(evidence)
        if not ranked or ranked[0].score < self.settings.answers:
            return Draft("", drafter=NAME, notes=flags)
        left = self.settings.timeout if brief.seconds is None else brief.seconds
        deadline = monotonic() + min(left, self.settings.timeout)
        texts: list[str] = []
        tokens, why = 0, ""
        for group in _groups(ranked, brief):
            written = self._sentence(evidence, group, brief, deadline)
            texts.append(written.text)
            tokens += written.tokens
            why = why or (_LATE if written.late else _BROKE_OFF if written.cut else "")
        return read_draft(
            _joined(texts),
            evidence.passages,
            drafter=NAME,
            cut=bool(why),
            notes=(*filter(None, [why]), *flags),
            tokens=tokens,
        )

    def _sentence(
        self, evidence: Evidence, group: Sequence[Ranked], brief: Brief, deadline: float
    ) -> Written:
        parts = excerpts(evidence, group, _ROOM)
        turns = _turns(evidence.question, parts, brief)
        most = min(self.settings.tokens, _TOKENS)
        if self.writer.size(turns) + most > WINDOW:
            raise QuestionError(_TOO_LONG, remedy="Ask a shorter question, or use another LLM.")
        grammar = _GRAMMAR.format(numbers=" | ".join(f'"{part.n}"' for part in parts))
        return self.writer.write(turns, most, grammar=grammar, seconds=deadline - monotonic())

    @property
    def writer(self) -> LlamaWriter:
        with self._lock:
            if not self._opened:
                self._opened.append(open_writer(self.settings.threads, WINDOW))
            return self._opened[0]


def _groups(ranked: Sequence[Ranked], brief: Brief) -> list[Sequence[Ranked]]:
    """What each sentence is written from: the best statement, for a revision the two best; where
    passages disagree, the best of each by itself, since shown both the model mixes them up."""
    for conflict in brief.conflicts:
        ids = {conflict.first.id, conflict.second.id}
        best = (next((r for r in ranked if r.passage.id == id), None) for id in sorted(ids))
        found: list[Sequence[Ranked]] = [[entry] for entry in best if entry is not None]
        if len(found) == 2:
            return found
    return [ranked[: 1 if brief.earlier is None else 2]]


def _turns(question: str, parts: Sequence[Shown], brief: Brief) -> list[Turn]:
    """The conversation, with one example. A passage has one line, so that it can begin no other."""
    lines = [f"[{part.n}] {_title(part.passage)}: {_line(part.text)}" for part in parts]
    asked = "\n".join((*lines, f"\nQuestion: {_line(question)}"))
    turns = [Turn("system", _SYSTEM), *_EXAMPLE, Turn("user", asked)]
    if brief.earlier is not None:
        found = [f"{objection(finding)}. " for finding in against(brief.findings)[:1]]
        again = f"This was found wrong: {''.join(found)}Answer again: {_line(question)}"
        turns += [Turn("assistant", quoted(brief.earlier.text)), Turn("user", again)]
    return turns


def _joined(texts: Sequence[str]) -> str:
    """The sentences, each with its mark behind it, where readers and checks expect it."""
    first, *others = (_LED.sub(r"\2 [\1]", text) for text in texts)
    return " However, ".join((first[:1].upper() + first[1:], *others))


def _title(passage: Passage) -> str:
    return passage.document if instructs(passage.title) else quoted(passage.title)


def _line(text: str) -> str:
    return " ".join(text.split())
