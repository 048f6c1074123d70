"""Rows for a batch, and a run in a process of its own with parts that need no weights."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from suffice import engine
from suffice.lab.batch.rows import Kind, Task
from suffice.lab.batch.run import Summary, run_batch
from suffice.settings import Settings
from tests.fakes import HashEmbedder
from tests.lab.eval.overlap import OverlapVerifier

DAY = date(2026, 11, 15)


def with_fakes() -> None:
    """For a process of its own; tests in this process patch the same names."""
    vars(engine).update(open_verifier=lambda *_: OverlapVerifier())
    vars(engine).update(open_embedder=lambda *_: HashEmbedder())


def rows(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "id": f"row-{n}",
            "question": f"How long is rule {n}?",
            "evidence": [f"Rule {n} lasts {n} weeks.", {"text": "Lunch is at noon.", "title": "L"}],
            "answer": f"Rule {n} lasts {n + n % 2} weeks [1].",
        }
        for n in range(start, start + count)
    ]


def write_lines(path: Path, values: Sequence[Any]) -> Path:
    """JSON lines; a string is written as it stands."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in values]
    data = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in text.splitlines()]


def work(inputs: Sequence[Path], output: Path, kind: Kind = "check", **options: Any) -> Summary:
    done = Task(kind, options.pop("day", DAY), options.pop("settings", Settings()))
    return run_batch(done, [str(path) for path in inputs], str(output), **options)


def work_until(source: Path, output: Path, kill_at: str = "") -> None:
    """In a process of its own: run, and kill the process at a step such as "rows 40"."""
    with_fakes()

    def report(what: str, done: int, total: int) -> None:
        if f"{what} {done}" == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    work([source], output, chunk_rows=10, report=report)
