"""What a batch does with each row: check its answer, or gate its evidence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal, Protocol

from suffice.answers import Checker
from suffice.batch.rows import Chunk, Reader, Row
from suffice.batch.sources import Source
from suffice.errors import AnswerError, EvidenceError, QuestionError, SourceMissing, SufficeError
from suffice.evidence.inputs import given
from suffice.gate.gate import Gate
from suffice.models.caching import CachedEmbedder
from suffice.models.catalog import open_embedder, open_verifier
from suffice.record.setup import ANSWERS, PIPELINE, Setup
from suffice.serialize import checked, gate
from suffice.settings import Settings
from suffice.verdict.thresholds import certified

Kind = Literal["check", "gate"]
GOOD, BAD, COUNTS = b"+", b"-", b"#"
"""The first byte of a line in a part: a result, an unusable row, or the counts of the part."""
_ELSEWHERE = {"answer", "passages", "question", "record"}
_ROW = 'A row is an object with "question", "evidence" (a list of texts or objects) and "answer".'


@dataclass(frozen=True, slots=True)
class Task:
    """The work on a row. `day` is the day on which documents must be in force, so that a run
    resumed on another day gives the same results."""

    kind: Kind
    day: date
    settings: Settings = field(default_factory=Settings)
    tier: str = ""
    uncited: bool = False

    @property
    def fingerprint(self) -> str:
        """Equal for tasks that give equal results: settings, options and package versions."""
        own, options = self.settings.collection(""), {"tier": self.tier, "uncited": self.uncited}
        said = {name: str(value) for name, value in options.items()}
        door = ANSWERS if self.kind == "check" else PIPELINE
        setup = Setup(own, self.settings.embedder, self.settings.verifier, {}, door, said)
        return f"{self.kind}-{setup.record().id}"

    def on_one_thread(self) -> Task:
        """The same task for a worker with one CPU. The number of threads changes no score."""
        embedder = replace(self.settings.embedder, threads=1)
        verifier = replace(self.settings.verifier, threads=1)
        return replace(self, settings=replace(self.settings, embedder=embedder, verifier=verifier))

    def open(self) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """Load the models. The result turns a row into its output; it raises a `SufficeError` for
        a row that cannot be used."""
        settings = self.settings
        embedder = CachedEmbedder(open_embedder(settings.embedder))
        verifier = open_verifier(settings.verifier, self.tier, settings.draft)
        if self.kind == "check":
            checker = Checker.of(settings, verifier, embedder, uncited=self.uncited)
            checker = replace(checker, clock=lambda: self.day)
            return lambda row: _check(checker, row)
        own = certified(settings.collection(""), {"embedder": embedder.id, "verifier": verifier.id})
        opened = Gate.of(own, embedder, verifier)
        opened.clock = lambda: self.day
        return lambda row: _gate(opened, row)


class RowProgress(Protocol):
    def __call__(self, rows: int) -> None: ...


class Processor:
    """Turns chunks into parts: bytes that depend on the chunk's rows only."""

    def __init__(self, task: Task, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)
        self._reader = Reader(self._sources, task.settings.read.max_bytes)
        self._work = task.open()

    def part(self, chunk: Chunk, progress: RowProgress = lambda rows: None) -> bytes:
        """The results of a chunk, one a line, after a line with their counts."""
        lines: list[bytes] = []
        counts = Counter[str]()
        place = self._sources[chunk.source].place
        for row in self._reader.rows(chunk):
            progress(len(lines))
            mark, value = self._result(place, row)
            counts["bad" if mark == BAD else str(value.get("verdict", value.get("level")))] += 1
            lines.append(mark + encoded(value))
        if len(lines) != chunk.rows:
            raise SourceMissing(
                f"{place} has changed during the run.", remedy="Start again with --restart."
            )
        return b"".join([COUNTS + encoded(dict(sorted(counts.items()))), *lines])

    def _result(self, place: str, row: Row) -> tuple[bytes, dict[str, Any]]:
        known = {"file": place, "row": row.number}
        if row.problem:
            return BAD, {**known, "reason": row.problem}
        if not isinstance(row.value, dict):
            return BAD, {**known, "reason": f"The row is not an object. {_ROW}"}
        if row.value.get("id") is not None:
            known["id"] = row.value["id"]
        try:
            return GOOD, {**known, **self._work(row.value)}
        except (AnswerError, EvidenceError, QuestionError) as problem:
            return BAD, {**known, "reason": str(problem)}
        except (SufficeError, OSError, MemoryError):  # not the row's fault: the run stops
            raise
        except Exception as problem:  # one row must not stop a run of a million
            return BAD, {**known, "reason": f"Internal error: {type(problem).__name__}: {problem}"}


def encoded(value: Any) -> bytes:
    """One line of JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can express
        return json.dumps(value, default=str).encode() + b"\n"


def _check(checker: Checker, row: Mapping[str, Any]) -> dict[str, Any]:
    question = row.get("question")
    if question is not None and not isinstance(question, str):
        raise QuestionError('"question" is not a string.', remedy=_ROW)
    if row.get("answer") is None:
        raise AnswerError('The row has no "answer".', remedy=_ROW)
    found = checked(checker.check(row["answer"], _evidence(row), question))
    return {name: value for name, value in found.items() if name not in _ELSEWHERE}


def _gate(opened: Gate, row: Mapping[str, Any]) -> dict[str, Any]:
    question = row.get("question")
    if not isinstance(question, str):
        raise QuestionError('The row has no "question".', remedy=_ROW)
    decision = opened.decide(question, given(_evidence(row)))
    return {"open": decision.open, **gate(decision)}


def _evidence(row: Mapping[str, Any]) -> Any:
    evidence = row.get("evidence")
    if evidence is None:
        raise EvidenceError('The row has no "evidence".', remedy=_ROW)
    return evidence
