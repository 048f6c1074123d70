"""Feeds every function that reads foreign text with texts that grow, in a process of its own, and
prints a line of JSON before and after each: a function that never returns is known by its name."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import time
from collections.abc import Callable, Generator
from datetime import date
from typing import Any

import suffice.text
from benchmarks.hostile import PIECES
from suffice.errors import SufficeError
from suffice.evidence.read import html, markdown
from suffice.gate.missing import missing_aspects
from suffice.models.llm.rulings import occurs_in, read_sufficiency, read_support
from suffice.server.openai import carried_evidence
from suffice.text.when import asked_about, timeless
from suffice.types import Evidence, Passage, Retrieved

_LENGTH = 400
_GROWTH = 4
_FLOOR = 0.01
"""Seconds of processor time. What takes less for the longest text is fast enough."""
_MOST = 10
"""A linear function takes 4 times as long for 4 times the text, a quadratic one 16 times."""
_TRIES = 4


def functions() -> dict[str, Callable[[str], object]]:
    found: dict[str, Callable[[str], object]] = {
        "timeless": lambda text: timeless(text, asked_about(text, date(2026, 1, 1))),
        "missing, in a question": lambda text: missing_aspects(
            _evidence(text, "Aaa pays 5 euros.")
        ),
        "missing, in a passage": lambda text: missing_aspects(
            _evidence("Who is AB in 2024?", text)
        ),
        "rulings": lambda text: read_support(f"```json\n{text}", 3),
        "assessment": lambda text: read_sufficiency(text),
        "quote": lambda text: occurs_in(f"{text[:300]} x", text),
        "tags": carried_evidence.marked,
        "question": lambda text: carried_evidence.question_of([{"role": "user", "content": text}]),
        "HTML": lambda text: html.read(text.encode()),
        "Markdown": lambda text: markdown.read(text.encode()),
    }
    for module in pkgutil.walk_packages(suffice.text.__path__, "suffice.text."):
        for name, value in vars(importlib.import_module(module.name)).items():
            own = inspect.isfunction(value) and value.__module__ == module.name
            if own and not name.startswith("_") and _reads_text(value):
                found[f"{module.name.removeprefix('suffice.text.')}.{name}"] = value
    return found


def _reads_text(function: Callable[..., Any]) -> bool:
    needed = [
        one for one in inspect.signature(function).parameters.values() if one.default is one.empty
    ]
    return len(needed) == 1 and needed[0].annotation == "str"


def _evidence(question: str, text: str) -> Evidence:
    return Evidence(question, (Retrieved(Passage(id="p", text=text, document="d"), 1.0),))


def _seconds(function: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    try:
        result = function(text)
        if isinstance(result, Generator):
            list(result)
    except (SufficeError, ValueError):
        pass  # it refuses the text, which is an answer too
    return time.process_time() - start


def grows(function: Callable[[str], object], piece: str) -> float | None:
    """How many times as long a function takes for 4 times the text, if too many."""

    def text(length: int) -> str:
        return f"x ({piece * (length // len(piece))} y"

    if _seconds(function, text(_GROWTH * _LENGTH)) < _FLOOR:
        return None
    least = longest = float("inf")
    for _ in range(_TRIES):
        least = min(least, _seconds(function, text(_LENGTH)))
        longest = min(longest, _seconds(function, text(_GROWTH * _LENGTH)))
        if longest < max(_FLOOR, _MOST * least):
            return None
    return longest / least


def main() -> None:
    for name, function in functions().items():
        print(json.dumps({"starts": name}), flush=True)
        _seconds(function, "Warm up: the Act of 1 May 2024 says 5 kg [1].")
        slow = {piece: ratio for piece in PIECES if (ratio := grows(function, piece))}
        print(json.dumps({"done": name, "slow": slow}), flush=True)


if __name__ == "__main__":
    main()
