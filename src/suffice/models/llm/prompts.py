"""Prompts from versioned files.

A file holds the system message and, after a line of `=====`, the end of the user message, which
describes the reply. A file whose text changes gets a new number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template
from typing import Any, Generic, TypeVar

from suffice.models.chat import Message
from suffice.models.llm.replies import schema_of

_PARTS = "\n=====\n"
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Prompt(Generic[R]):
    """The complete prompt of a request, and the struct that its reply must match. The same content
    gives the same text."""

    version: str
    system: str
    user: str
    reply: type[R]

    @property
    def messages(self) -> tuple[Message, Message]:
        return Message("system", self.system), Message("user", self.user)

    @property
    def text(self) -> str:
        return f"{self.system}\n{self.user}"

    @property
    def response_format(self) -> Mapping[str, Any]:
        """The reply schema for `response_format`. It depends on the version alone."""
        name = self.version.replace("-", "_")
        schema = {"name": name, "strict": True, "schema": schema_of(self.reply)}
        return {"type": "json_schema", "json_schema": schema}


def build_prompt(version: str, blocks: Iterable[str], reply: type[R], **values: str) -> Prompt[R]:
    """The prompt of a file: its system message, then the blocks and the end of the user message,
    so that our own text comes last. The `values` replace the file's `$names`."""
    system, closing = read_prompt(version)
    user = "\n\n".join((*blocks, Template(closing).substitute(values)))
    return Prompt(version, system, user, reply)


@cache
def read_prompt(version: str) -> tuple[str, str]:
    """The system message of a prompt file and the end of its user message, if it has one."""
    path = resources.files("suffice.models") / "prompts" / f"{version}.txt"
    system, _, closing = path.read_text("utf-8").partition(_PARTS)
    return system.strip(), closing.strip()
