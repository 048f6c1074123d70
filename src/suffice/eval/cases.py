"""Reads labelled questions and drafts for `suffice eval`.

A folder contains questions.jsonl, drafts.jsonl or both, and the documents as docs/ or docs.tar.gz.
A collection named in a row is a subfolder of the documents, if there is one. A file contains
drafts, or cases with passages and several answers each (`qa`).
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from suffice.errors import SourceMissing, Unreadable
from suffice.eval.grounding import NOT_SUPPORTED, SUPPORTED
from suffice.eval.rows import OBJECT, PASSAGES, TEXT, TRUTH, Kind, one_of, or_null, read_rows

_SEPARATOR = re.compile(r"\n[ \t]*+\|\|[ \t]*+\n")
Row = Mapping[str, Any]
T = TypeVar("T")
GROUPS = Kind(
    "a list of lists of texts",
    lambda value: (
        isinstance(value, list)
        and all(isinstance(one, list) and all(map(TEXT.holds, one)) for one in value)
    ),
)
TEXTS = Kind(
    "a list of texts", lambda value: isinstance(value, list) and all(map(TEXT.holds, value))
)
OBJECTS = Kind(
    "a list of objects", lambda value: isinstance(value, list) and all(map(OBJECT.holds, value))
)
ANSWERS = Kind(
    "a list of objects with “q”, “a” and “w”: a list of objects with “t”",
    lambda value: (
        OBJECTS.holds(value)
        and all(TEXT.holds(one.get("q")) and TEXT.holds(one.get("a")) for one in value)
        and all(OBJECTS.holds(one.get("w")) for one in value)
        and all(TEXT.holds(wrong.get("t")) for one in value for wrong in one["w"])
    ),
)
EVIDENCE = Kind(
    "text, or a list of texts or of objects with “text”",
    lambda value: (
        PASSAGES.holds(value)
        or (OBJECTS.holds(value) and all(TEXT.holds(one.get("text")) for one in value))
    ),
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a collection. `answers`: a right answer contains one text of each group."""

    question: str
    answerable: bool
    answers: tuple[tuple[str, ...], ...] = ()
    collection: str = ""
    quotes: tuple[str, ...] = ()
    """The sentences of the documents that answer it, verbatim."""
    adds: str = ""
    """A sentence that would answer it, if the documents do not."""
    sources: tuple[str, ...] = ()
    """The ends of the names of the documents that answer it."""
    type: str = ""

    def share(self, answer: str) -> float:
        """The share of groups of which at least one text occurs in the answer."""
        text = folded(answer)
        held = [any(folded(one) in text for one in group) for group in self.answers]
        return sum(held) / len(held) if held else 0.0


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer with the passages it was written from. Drafts of one `pair` answer the same
    question; at least one of them is right and one wrong."""

    text: str
    passages: tuple[Mapping[str, str], ...]
    correct: bool
    question: str = ""
    kind: str = ""
    pair: str = ""
    set: str = ""


@dataclass(frozen=True, slots=True)
class Cases:
    name: str
    questions: tuple[Question, ...] = ()
    drafts: tuple[Draft, ...] = ()
    documents: Path | None = None
    files: tuple[Path, ...] = ()

    def at_most(self, count: int) -> Cases:
        """At most this many questions and this many drafts, evenly spread."""
        return replace(
            self, questions=_spread(self.questions, count), drafts=_spread(self.drafts, count)
        )


def _spread(cases: tuple[T, ...], count: int) -> tuple[T, ...]:
    step = max(1.0, len(cases) / count)
    return tuple(cases[int(n * step)] for n in range(min(count, len(cases))))


QUESTION = {
    "question": TEXT, "answerable": TRUTH, "answers_all": or_null(GROUPS),
    "quotes": or_null(TEXTS), "quote": or_null(TEXT), "adds": or_null(TEXT), "s": or_null(TEXT),
    "source": or_null(TEXT), "sources": or_null(TEXTS),
}  # fmt: skip
DRAFT = {"draft": TEXT, "correct": TRUTH, "evidence": EVIDENCE, "question": or_null(TEXT)}
LABEL = one_of(SUPPORTED, *NOT_SUPPORTED)
CLAIM = {"claim": TEXT, "label": LABEL, "evidence": EVIDENCE, "question": or_null(TEXT)}
CASE = {"id": TEXT, "passages": PASSAGES, "qa": ANSWERS}


def read_cases(path: Path, only: str = "") -> Cases:
    """The cases of a folder or a file; `only` keeps the drafts of one set of a file."""
    if not path.is_dir():
        drafts = tuple(draft for draft in _drafts(path) if only in ("", draft.set))
        if not drafts:
            raise SourceMissing(
                f"{path} has no rows of the set “{only}”.", remedy="Use a value of its field “set”."
            )
        return Cases(f"{path.name} {only}".strip(), drafts=drafts, files=(path,))
    asked, drafted = path / "questions.jsonl", path / "drafts.jsonl"
    if not asked.exists() and not drafted.exists():
        raise SourceMissing(
            f"{path} contains neither questions nor drafts.",
            remedy="Add questions.jsonl or drafts.jsonl.",
        )
    documents = next((one for one in (path / "docs", path / "docs.tar.gz") if one.exists()), None)
    if asked.exists() and documents is None:
        raise SourceMissing(
            f"{path} has questions but no documents.",
            remedy="Add the documents as docs/ or docs.tar.gz.",
        )
    return Cases(
        path.name,
        tuple(_questions(asked)) if asked.exists() else (),
        tuple(_drafts(drafted)) if drafted.exists() else (),
        documents,
        tuple(one for one in (asked, drafted) if one.exists()),
    )


def unpacked(documents: Path, scratch: Path) -> Path:
    """The folder of the documents; an archive is unpacked into `scratch`."""
    if documents.is_dir():
        return documents
    try:
        with tarfile.open(documents) as archive:
            archive.extractall(scratch, filter="data")
    except (OSError, EOFError, tarfile.TarError) as problem:
        raise Unreadable(
            f"{documents} cannot be unpacked: {problem}.", remedy="Use a tar archive or a folder."
        ) from problem
    return scratch


def _questions(path: Path) -> Iterator[Question]:
    for number, row in enumerate(read_rows(path, ("question", "answerable"), QUESTION), 1):
        answers = row.get("answers_all") or ()
        if row["answerable"] and not answers:
            raise Unreadable(
                f"{path}, question {number} is answerable, but answers_all is missing.",
                remedy="Add answers_all: groups of texts. A right answer contains one of each.",
            )
        yield Question(
            row["question"],
            row["answerable"],
            tuple(tuple(group) for group in answers),
            str(row.get("collection") or ""),
            _quotes(row),
            row.get("adds") or row.get("s") or "",
            _sources(row),
            str(row.get("type") or ""),
        )


def _quotes(row: Row) -> tuple[str, ...]:
    """The quotes, as a list or as one text in which a line `||` separates them."""
    given = row.get("quotes") or _SEPARATOR.split(row.get("quote") or "")
    return tuple(quote.strip() for quote in given if quote.strip())


def _sources(row: Row) -> tuple[str, ...]:
    """The documents, as a list or as one text in which " / " separates them."""
    given = row.get("sources") or (row.get("source") or "").split(" / ")
    return tuple(source.strip() for source in given if source.strip())


def _drafts(path: Path) -> Iterator[Draft]:
    """Drafts, claims in the format of `bench grounding`, or cases with several answers each."""
    first = read_rows(path, ())[0]
    if "qa" in first:
        for case in read_rows(path, ("id", "passages", "qa"), CASE):
            yield from _answers(case)
    elif "claim" in first:
        for row in read_rows(path, ("claim", "label", "evidence"), CLAIM):
            yield _draft(row, row["claim"], row["label"] == SUPPORTED)
    else:
        for row in read_rows(path, ("draft", "correct", "evidence"), DRAFT):
            yield _draft(row, row["draft"], row["correct"])


def _draft(row: Row, text: str, correct: bool) -> Draft:
    return Draft(
        text,
        _passages(row["evidence"]),
        correct,
        row.get("question") or "",
        str(row.get("kind") or row.get("task") or ""),
        str(row.get("pair") or row.get("qid") or ""),
        str(row.get("set") or ""),
    )


def _answers(case: Row) -> Iterator[Draft]:
    """The right and the wrong answers of a case, each with all of its passages."""
    passages = _passages(case["passages"])
    for number, qa in enumerate(case["qa"]):
        pair = f"{case['id']} {number}"
        yield Draft(qa["a"], passages, True, qa["q"], pair=pair)
        for wrong in qa["w"]:
            yield Draft(wrong["t"], passages, False, qa["q"], wrong.get("k", ""), pair)


def _passages(given: Any) -> tuple[Mapping[str, str], ...]:
    texts = given if isinstance(given, list) else [given]
    return tuple(one if isinstance(one, dict) else {"text": one} for one in texts)


def folded(text: str) -> str:
    """Lower case, with single spaces."""
    return " ".join(text.lower().split())
