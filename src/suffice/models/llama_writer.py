"""SmolLM2 as it came, in this process: a conversation in, its next turn out.

The same file serves the strong verifier; there an adapter is laid over it. What is written is a
function of what was read: no sampling, no cache between calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any

from suffice.errors import ModelError
from suffice.models.gguf import read_metadata, tokenizer_of
from suffice.models.llama import REINSTALL, base_file
from suffice.models.llama_server import start_server

_START, _END = 1, 2  # <|im_start|> and <|im_end|>, which no text is tokenised to


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation: `system`, `user` or `assistant`."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """What came out. `cut`: it broke off, at its limit of tokens or of time (`late`)."""

    text: str
    tokens: int
    cut: bool = False
    late: bool = False


@dataclass(frozen=True)
class LlamaWriter:
    """One model in memory; calls from several threads wait for each other."""

    window: int
    tokenizer: Any = field(repr=False)
    server: Any = field(repr=False)
    lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def size(self, turns: Sequence[Turn]) -> int:
        """How many tokens a conversation has."""
        return len(self._prompt(turns))

    def write(
        self, turns: Sequence[Turn], most: int, *, grammar: str = "", seconds: float | None = None
    ) -> Written:
        """The next turn, of at most so many tokens; a grammar (GBNF) says what it may look like."""
        prompt = self._prompt(turns)
        if len(prompt) + most > self.window:
            raise ValueError(f"{len(prompt)} and {most} tokens, the window is {self.window}.")
        heard = _Heard(None if seconds is None else monotonic() + seconds)
        request = {
            "prompt": prompt,
            "max_tokens": most,
            "temperature": 0.0,
            "seed": 0,
            "cache_prompt": False,
            "stream": True,
            **({"grammar": grammar} if grammar else {}),
        }
        with self.lock:
            reply = self.server.handle_completions(request, heard)
        heard.fail(reply)
        if heard.error:
            raise ModelError(f"llama.cpp refused a prompt: {heard.error}.")
        tokens = len(prompt) + heard.tokens
        return Written(heard.text, tokens, cut=heard.finish != "stop", late=heard.late)

    def _prompt(self, turns: Sequence[Turn]) -> list[int]:
        """Built of token ids: no text can end its turn or begin another."""
        ids: list[int] = []
        for turn in turns:
            ids += [_START, *self._tokens(f"{turn.role}\n{turn.text}"), _END, *self._tokens("\n")]
        return [*ids, _START, *self._tokens("assistant\n")]

    def _tokens(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids


@dataclass(slots=True)
class _Heard:
    """What llama.cpp tells while it writes; called with each piece, it says when to stop."""

    deadline: float | None
    text: str = ""
    tokens: int = 0
    finish: str = ""
    error: str = ""
    late: bool = False

    def __call__(self, event: Any) -> bool:
        self.fail(event)
        for choice in event.get("choices", ()):
            self.text += choice["text"]
            self.tokens += bool(choice["text"])
            self.finish = choice["finish_reason"] or self.finish
        self.late = not self.finish and self.deadline is not None and monotonic() > self.deadline
        return self.late or bool(self.error)

    def fail(self, event: Any) -> None:
        """Keeps what an event tells of a failure; the last one may come as the reply itself."""
        if event and "error" in event:
            self.error = str(event["error"].get("message"))


def open_writer(threads: int = 0, window: int = 1024) -> LlamaWriter:
    """The base from its package. `window` holds what is read and what is written together."""
    base = base_file("The local LLM")
    tokenizer = tokenizer_of(read_metadata(base, REINSTALL))
    return LlamaWriter(window, tokenizer, start_server(base, None, threads, window))
