"""Reads labelled questions, drafts and recorded drafts of an LLM for `suffice eval`.

A folder contains questions.jsonl, drafts.jsonl, llm_drafts.jsonl or several of them, and the
documents as docs/ or docs.tar.gz. A collection named in a row is a subfolder of the documents, if
there is one; rows that name none belong to a collection with the folder's name. A file contains
drafts, or cases with passages and several answers each (`qa`).
"""

from __future__ import annotations

import random
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from suffice.errors import SettingsError, SourceMissing, Unreadable
from suffice.lab.eval.rows import OBJECT, PASSAGES, TEXT, TRUTH, Kind, one_of, or_null, read_rows
from suffice.lab.eval.verifiers import NOT_SUPPORTED, SUPPORTED

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
    excludes: tuple[str, ...] | None = None
    """Texts that make a released answer wrong; `None`: the case does not say."""

    def share(self, answer: str) -> float:
        """The share of groups of which at least one text occurs in the answer."""
        text = folded(answer)
        held = [any(folded(one) in text for one in group) for group in self.answers]
        return sum(held) / len(held) if held else 0.0

    def excluded(self, answer: str) -> bool:
        """Whether the answer contains a text that makes it wrong."""
        text = folded(answer)
        return any(folded(one) in text for one in self.excludes or ())


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
    collection: str = ""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an LLM wrote to a question from these passages, and how a reader labelled it."""

    question: Question
    text: str
    passages: tuple[Mapping[str, str], ...]
    label: str

    @property
    def collection(self) -> str:
        return self.question.collection


RIGHT, PARTIAL, DECLINED = "right", "partial", "declined"
LABELS = (RIGHT, PARTIAL, DECLINED)


@dataclass(frozen=True, slots=True)
class Cases:
    name: str
    questions: tuple[Question, ...] = ()
    drafts: tuple[Draft, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    documents: Mapping[str, Path] = field(default_factory=dict)
    """The folder or archive of each collection."""
    files: tuple[Path, ...] = ()

    @property
    def all(self) -> tuple[Question | Draft | Recorded, ...]:
        """All cases, in the order in which they are decided."""
        return (*self.questions, *self.drafts, *self.recorded)

    @property
    def collections(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.collection for one in self.all))

    def at_most(self, count: int) -> Cases:
        """At most this many questions, drafts and recorded drafts, drawn from all over, always the
        same ones. Every second one would be no sample: right and wrong drafts often alternate."""
        return replace(
            self,
            questions=_drawn(self.questions, count),
            drafts=_drawn(self.drafts, count),
            recorded=_drawn(self.recorded, count),
        )


def _drawn(cases: tuple[T, ...], count: int) -> tuple[T, ...]:
    places = list(range(len(cases)))
    random.Random(0).shuffle(places)
    return tuple(cases[place] for place in sorted(places[:count]))


QUESTION = {
    "question": TEXT, "answerable": TRUTH, "answers_all": or_null(GROUPS),
    "quotes": or_null(TEXTS), "quote": or_null(TEXT), "adds": or_null(TEXT), "s": or_null(TEXT),
    "source": or_null(TEXT), "sources": or_null(TEXTS), "answers_none": or_null(TEXTS),
}  # fmt: skip
DRAFT = {"draft": TEXT, "correct": TRUTH, "evidence": EVIDENCE, "question": or_null(TEXT)}
RECORDED = {
    "question": TEXT, "answerable": TRUTH, "draft": TEXT, "evidence": EVIDENCE,
    "label": one_of(*LABELS),
}  # fmt: skip
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
    return _of_folder(path)


def read_all(paths: Sequence[Path], only: str = "") -> Cases:
    """The cases of several folders or files together."""
    read = [read_cases(path, only) for path in paths]
    documents: dict[str, Path] = {}
    for one in read:
        if twice := documents.keys() & one.documents.keys():
            raise SettingsError(
                f"Two folders have a collection “{min(twice)}”.",
                remedy="Name each folder once, and give collections different names "
                "(the field “collection”, or the name of the folder).",
            )
        documents |= one.documents
    return Cases(
        ", ".join(one.name for one in read),
        tuple(case for one in read for case in one.questions),
        tuple(case for one in read for case in one.drafts),
        tuple(case for one in read for case in one.recorded),
        documents,
        tuple(file for one in read for file in one.files),
    )


def _of_folder(path: Path) -> Cases:
    names = ("questions.jsonl", "drafts.jsonl", "llm_drafts.jsonl")
    files = {name: path / name for name in names if (path / name).exists()}
    if not files:
        raise SourceMissing(
            f"{path} contains neither questions nor drafts.",
            remedy=f"Add {', '.join(names[:-1])} or {names[-1]}.",
        )
    documents = next((one for one in (path / "docs", path / "docs.tar.gz") if one.exists()), None)
    asked, drafted, recorded = map(files.get, names)
    if asked and documents is None:
        raise SourceMissing(
            f"{path} has questions but no documents.",
            remedy="Add the documents as docs/ or docs.tar.gz.",
        )
    questions = tuple(_questions(asked)) if asked else ()
    known = {one.question: one for one in questions}
    return Cases(
        path.name,
        questions,
        tuple(_in_collection(one, known, path) for one in _drafts(drafted)) if drafted else (),
        tuple(_recorded(recorded, known)) if recorded else (),
        {one.collection: documents for one in questions} if documents else {},
        tuple(files.values()),
    )


def _in_collection(draft: Draft, known: Mapping[str, Question], path: Path) -> Draft:
    """The draft in the collection that it names, or in that of its question."""
    named = draft.collection or path.resolve().name
    asked = known.get(draft.question)
    return replace(draft, collection=asked.collection if asked else named)


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
            str(row.get("collection") or path.resolve().parent.name),
            _quotes(row),
            row.get("adds") or row.get("s") or "",
            _sources(row),
            str(row.get("type") or ""),
            None if row.get("answers_none") is None else tuple(row["answers_none"]),
        )


def _recorded(path: Path, known: Mapping[str, Question]) -> Iterator[Recorded]:
    """The recorded drafts, with their questions as in questions.jsonl, which says what a right
    answer contains."""
    for row in read_rows(path, tuple(RECORDED), RECORDED):
        named = str(row.get("collection") or path.resolve().parent.name)
        new = Question(row["question"], row["answerable"], collection=named)
        asked = known.get(row["question"], new)
        yield Recorded(asked, row["draft"], _passages(row["evidence"]), row["label"])


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
            draft = _draft(row, row["draft"], row["correct"])
            yield replace(draft, pair=draft.pair or draft.question)


def _draft(row: Row, text: str, correct: bool) -> Draft:
    return Draft(
        text,
        _passages(row["evidence"]),
        correct,
        row.get("question") or "",
        str(row.get("kind") or row.get("task") or ""),
        str(row.get("pair") or row.get("qid") or ""),
        str(row.get("set") or ""),
        str(row.get("collection") or ""),
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
