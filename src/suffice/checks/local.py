"""The judge in this process: SmolLM2, led by a grammar to the form of the reply.

A real LLM for trying things out, and no judge: with 135 million parameters it answers PASS to
whatever it is asked, so a PASS of it backs nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from suffice.checks.questions import Case, Question
from suffice.errors import ModelError
from suffice.models.llama import base_file
from suffice.models.llama_writer import LlamaWriter, Turn, open_writer

WINDOW = 2048
_TOKENS = 224
_GRAMMAR = r"""
root ::= {parts}
answer ::= "{{\"sentence\": \"" [A-Z] [a-zA-Z0-9 ,'%-]{{8,40}} ".\", \"answer\": \"" mark "\"}}"
mark ::= "PASS" | "FAIL" | "UNCERTAIN"
"""


@dataclass(frozen=True)
class Local:
    """The model loads on first use; calls from several threads wait for each other."""

    threads: int = 0
    backs: bool = False

    @classmethod
    def open(cls, threads: int) -> Local:
        base_file("The local LLM")  # a missing extra is told now, not at the first claim
        return cls(threads)

    def reply(self, case: Case, seconds: float) -> str:
        turns = [Turn(message.role, message.content) for message in case.messages()]
        if self.writer.size(turns) + _TOKENS > WINDOW:
            raise ModelError(
                "The claim and its passages are too long for the local model.",
                remedy="Set judge.llm to another one.",
            )
        written = self.writer.write(turns, _TOKENS, grammar=grammar(case.mark), seconds=seconds)
        if written.cut:
            raise ModelError(f"The local model broke off at its limit of {_limit(written.late)}.")
        return written.text

    @cached_property
    def writer(self) -> LlamaWriter:
        return open_writer(self.threads, WINDOW)


def grammar(mark: str) -> str:
    """The form of the reply as GBNF."""
    heads = [f'{{"case": "{mark}", ', *[", "] * (len(Question) - 1)]
    keys = (f'{head}"{question}": ' for head, question in zip(heads, Question, strict=True))
    return _GRAMMAR.format(parts=" ".join([*(f"{json.dumps(key)} answer" for key in keys), '"}"']))


def _limit(late: bool) -> str:
    return "time" if late else "tokens"
