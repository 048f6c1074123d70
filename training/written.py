"""The written cases as training rows and dev pairs, always in twins.

Every question, answer and statement stands beside evidence that answers or supports it, and beside
evidence that does not, so that nothing can be told from its words alone. Evidence that answers is
made of the case's own passages; evidence that does not is the same with the sentences or passages
the answer rests on taken out and near ones put in. A near-miss question gets its sentence `s` put
into a passage. `s` of another question is put in elsewhere, so that an added sentence is no sign.
"""

from __future__ import annotations

import difflib
import hashlib
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suffice.text.digest import pieces, word_prefixes
from suffice.text.sentences import statements

from .rows import ROOM, Label, Row, Span, Task, WordIndex, cut, read, read_lines

Case = dict[str, Any]
TRUNK = "written"
COLLECTED = Path("build/collected.jsonl.gz")
WHOLE = 0.7
"""The share of what an answer rests on that must be read for the row to keep its label."""
BARE = 3
"""An answer of so many words says nothing without its question."""
_YES_OR_NO = re.compile(r"(Yes|No)\b[,.;:!]")
_EITHER = re.compile(r"\b(?:or|how|what|when|where|who|which|why)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text with the spans in it that an answer rests on."""

    text: str
    points: tuple[Span, ...] = ()

    @property
    def heading(self) -> str:
        """The first line, if there are others and it is no row of a table."""
        first, line_break, _ = self.text.partition("\n")
        return "" if "|" in first else f"{first}{line_break}" * bool(line_break)

    def without_points(self) -> Passage | None:
        """The text with those spans gone; None where next to nothing is left."""
        left, last = [], 0
        for start, end in sorted(self.points):
            left.append(self.text[last:start])
            last = end
        text = "".join([*left, self.text[last:]]).strip()
        return Passage(text) if len(text) > 80 else None

    def with_sentence(self, sentence: str, draw: random.Random, *, point: bool) -> Passage:
        """The text with a sentence put between two of its sentences, or at its end."""
        ends, at = [0], 0
        for piece in pieces(self.text):
            at += len(piece)
            if piece.rstrip()[-1:] in ".!?" or piece.endswith("\n"):
                ends.append(at)
        inside = [at for at in ends if any(a < at < z for a, z in self.points)]
        at = draw.choice([*(end for end in ends[1:] if end not in inside), len(self.text)])
        lead = "" if not self.text[:at] or self.text[at - 1].isspace() else " "
        text = f"{self.text[:at]}{lead}{sentence} {self.text[at:]}"
        start, grown = at + len(lead), len(lead) + len(sentence) + 1
        moved = [(a + grown, z + grown) if a >= at else (a, z) for a, z in self.points]
        own = [(start, start + len(sentence))] if point else []
        return Passage(text, tuple(sorted([*moved, *own])))


def annotated(data: Path, annotations: Path) -> list[Case]:
    """The cases of the data folder's train file, with what was added to them in this repository,
    and those annotated here. Without collect.py's file, the cases on its documents are left out."""
    more = _by_id(annotations / "older")
    cases = [_joined(case, more.get(case["id"])) for case in read(data / "written/train.jsonl.gz")]
    here = _by_id(annotations)
    files = [data / "written/unwritten.jsonl.gz", *([COLLECTED] if COLLECTED.exists() else [])]
    bare = {case["id"]: case for file in files for case in read(file)}
    return cases + [bare[name] | one for name, one in here.items() if name in bare]


def _by_id(folder: Path) -> dict[str, Case]:
    files = sorted(folder.glob("*.jsonl"))
    return {one["id"]: one for file in files for one in read_lines(file)}


def _joined(case: Case, more: Case | None) -> Case:
    """The case with further fields of its statements and answers, in their order. A statement for
    which there is none is left out: its label is in doubt."""
    if more is None:
        return case
    statements = zip(case["c"], more["c"], strict=True)
    answers = zip(case["qa"], more["qa"], strict=True)
    return case | {
        "c": [one | further for one, further in statements if further],
        "qa": [one | further for one, further in answers],
    }


def held(case: Case) -> bool:
    """Whether a case is kept from the verifiers, to fit the gate's blend on: one document in
    sixteen. (All tables of one source, and all ordinances of one city, share a file name; there
    each case is a document.)"""
    alone = case["source"] in ("tatqa", "somerville")
    name = case["id"] if alone else f"{case['source']}/{case['file']}"
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 16 == 0


def training_cases(data: Path, annotations: Path) -> list[Case]:
    """What is trained on: no held document, and no case with a passage that stands in dev."""
    dev = {_folded(text) for case in dev_cases(data) for text in case["passages"]}
    return [
        case
        for case in annotated(data, annotations)
        if not held(case) and dev.isdisjoint(map(_folded, case["passages"]))
    ]


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def held_cases(data: Path, annotations: Path) -> list[Case]:
    return [case for case in annotated(data, annotations) if held(case)]


def dev_cases(data: Path) -> list[Case]:
    return list(read(data / "written" / "dev.jsonl.gz"))


def _length(points: Sequence[Span]) -> int:
    return sum(end - start for start, end in points)


class Stock:
    """All passages, found again by the words they share with a text."""

    def __init__(self, cases: Iterable[Case]) -> None:
        texts = dict.fromkeys(text for case in cases for text in case["passages"])
        self.index = WordIndex(list(texts))
        self.stems = {text: word_prefixes(text) for text in texts}

    def near(self, case: Case, text: str, count: int, draw: random.Random) -> list[Passage]:
        """Others than the case's own, and none that repeats one of those."""
        own = [self.stems.get(one) or word_prefixes(one) for one in case["passages"]]
        found: list[Passage] = []
        for other in self.index.near(f"{text} {case['title']}", draw, words=10, each=8):
            words = self.stems[other]
            if len(found) < count and not any(_repeats(words, one) for one in own):
                found.append(Passage(other))
        return found


def _repeats(first: frozenset[str], second: frozenset[str]) -> bool:
    return len(first & second) > 0.6 * min(len(first), len(second))


def written_rows(cases: Sequence[Case], seed: int, *, partial: bool = False) -> Iterator[Row]:
    """The rows of all cases, cut to what a model reads at once; where that lost what an answer
    rests on, the row goes. With `partial`, also rows whose evidence lost some of its sentences, for
    a teacher to label."""
    stock = Stock(cases)
    for case in cases:
        draw = random.Random(f"{seed}{case['id']}")
        for row in Twins(case, stock, draw).rows():
            whole = cut(row)
            if _length(whole.points) >= WHOLE * _length(row.points):
                yield whole
            if partial and draw.random() < 0.3:
                kept = [part for part in pieces(row.evidence) if draw.random() < 0.6]
                if kept:
                    bare = replace(row, evidence="".join(kept), points=(), wrong=())
                    label = Label.UNLABELLED
                    yield cut(replace(bare, label=label, origin=f"{TRUNK}+partial"))


@dataclass(frozen=True)
class Twins:
    """The rows of one case."""

    case: Case
    stock: Stock
    draw: random.Random

    def rows(self) -> Iterator[Row]:
        others = [near["s"] for near in self.case["near"]]
        for qa in self.case["qa"]:
            yield from self.question(qa, others)
            yield from self.answer(qa, others)
        yield from self.two_questions()
        for place, near in enumerate(self.case["near"]):
            yield from self.near_miss(near, others[:place] + others[place + 1 :])
        for statement in self.case["c"]:
            yield from self.statement(statement, others)
        if "long" in self.case:
            yield from self.long_answer(self.case["long"])

    # What evidence there is

    def passages(self, marked: Sequence[Sequence[int]] = ()) -> list[Passage]:
        """The case's passages with `marked` spans: (passage, start, end), passages from 1."""
        found = []
        for number, text in enumerate(self.case["passages"], 1):
            points = tuple(sorted((a, z) for place, a, z in marked if place == number))
            found.append(Passage(text, points))
        return found

    def mixed(self, own: Sequence[Passage], text: str, most: int = 3) -> list[Passage]:
        """With near passages among them, shuffled, half of the time: where it is not known what is
        needed, no more than are read at once."""
        if self.draw.random() < 0.5:
            return list(own)
        known = any(one.points for one in own)
        both, room = list(own), ROOM - sum(len(one.text) + 1 for one in own)
        for one in self.stock.near(self.case, text, self.draw.randint(1, most), self.draw):
            room -= len(one.text) + 1
            both += [one] if room > 0 or known else []
        return self.draw.sample(both, len(both))

    def lacking(self, own: Sequence[Passage], rests: Sequence[int], text: str) -> list[Passage]:
        """What is left without the passages an answer rests on, filled up with near ones."""
        left = [one for number, one in enumerate(own, 1) if number not in rests]
        left = [replace(one, points=()) for one in left]
        count = max(1, len(own) - len(left)) + self.draw.choice((0, 0, 1, 2))
        fill = self.stock.near(self.case, text, count, self.draw)
        both = [*left, *fill]
        return self.draw.sample(both, len(both))

    def emptied(self, own: Sequence[Passage]) -> list[Passage] | None:
        """The same passages without the sentences an answer rests on."""
        if not any(one.points for one in own):
            return None
        left = [one.without_points() if one.points else one for one in own]
        kept = [one for one in left if one is not None]
        return kept or None

    def added(self, own: Sequence[Passage], sentence: str, *, point: bool) -> list[Passage]:
        """With a sentence put into one of them."""
        place = self.draw.randrange(len(own))
        return [
            one.with_sentence(sentence, self.draw, point=point) if n == place else one
            for n, one in enumerate(own)
        ]

    def row(
        self, task: Task, statement: str, own: Sequence[Passage], label: Label, kind: str,
        question: str = "", wrong: tuple[Span, ...] = (),
    ) -> Row:  # fmt: skip
        """Passages joined as the product joins them, under the title half of the time."""
        title = self.case["title"] if self.draw.random() < 0.5 else ""
        text, points = f"{title}\n" if title else "", []
        for one in own:
            points += [(len(text) + a, len(text) + z) for a, z in one.points]
            text += f"{one.text}\n"
        held = tuple(points) if label is Label.SUPPORTED else ()
        return Row(task, statement, text, label, f"{TRUNK}+{kind}", question, held, wrong)

    # What is asked and said of it

    def alone(self, question: str, own: Sequence[Passage], said: Sequence[str]) -> Iterator[Row]:
        """Statements below their headings, as the drafter reads them: all that the answer rests on,
        or `said`; and one that shares words with the question but does not answer it."""
        found = [unit for one in own for unit in units(one)]
        rests = [unit for unit in found if unit.points]
        if not 0 < len(rests) <= 3 and said:
            heading = self.draw.choice(own).heading
            text = f"{heading}{self.draw.choice(said)}"
            rests = [Passage(text, ((len(heading), len(text)),))]
        words = word_prefixes(question)
        others = [unit for unit in found if not unit.points]
        others.sort(key=lambda unit: -len(words & word_prefixes(unit.text)))
        if 0 < len(rests) <= 3 and others:
            one_of_two = others[: self.draw.randint(1, 2)][-1:]
            for chosen, label in ((rests, Label.SUPPORTED), (one_of_two, Label.NOT_MENTIONED)):
                yield self.row(Task.SUFFICIENCY, question, chosen, label, "alone")

    def question(self, qa: Case, others: Sequence[str]) -> Iterator[Row]:
        def row(own: Sequence[Passage], label: Label) -> Row:
            return self.row(Task.SUFFICIENCY, qa["q"], own, label, "question")

        own = self.passages(qa.get("e", ()))
        rests = [one for number, one in enumerate(own, 1) if number in qa["p"]]
        yield row(self.mixed(own, qa["q"]), Label.SUPPORTED)
        alone = self.added(rests, self.draw.choice(others), point=False) if others else rests
        yield row(self.draw.choice((rests, alone)), Label.SUPPORTED)
        lacking = self.lacking(own, qa["p"], qa["q"])
        yield row(lacking, Label.NOT_MENTIONED)
        emptied = self.emptied(own)
        if emptied is None and others:
            emptied = self.added(lacking, self.draw.choice(others), point=False)
        yield row(self.mixed(emptied or lacking, qa["q"]), Label.NOT_MENTIONED)
        yield from self.alone(qa["q"], own, ())

    def two_questions(self) -> Iterator[Row]:
        """Two questions in one, whose answers stand in different passages: only both are enough."""
        apart = [
            (one, other)
            for one in self.case["qa"]
            for other in self.case["qa"]
            if one is not other and not {*one["p"]} & {*other["p"]}
        ]
        if not apart:
            return
        one, other = self.draw.choice(apart)
        words = _first_small(other["q"])
        joint = self.draw.choice(("? ", "? ", ", and ", " and "))
        end = other["q"] if joint == "? " else words
        text = f"{one['q'].rstrip(' ?.')}{joint}{end}"
        own = self.passages([*one.get("e", ()), *other.get("e", ())])
        half = self.draw.choice((one, other))
        left = [passage for number, passage in enumerate(own, 1) if number in half["p"]]
        yield self.row(Task.SUFFICIENCY, text, self.mixed(own, text), Label.SUPPORTED, "two")
        yield self.row(Task.SUFFICIENCY, text, left, Label.NOT_MENTIONED, "two")

    def near_miss(self, near: Case, others: Sequence[str]) -> Iterator[Row]:
        def row(own: Sequence[Passage], label: Label) -> Row:
            return self.row(Task.SUFFICIENCY, near["q"], own, label, "near")

        own = self.passages()
        yield row(self.mixed(own, near["q"]), Label.NOT_MENTIONED)
        added = self.added(own, near["s"], point=True)
        yield row(self.mixed(added, near["q"]), Label.SUPPORTED)
        if others:
            other = self.draw.choice(others)
            yield row(self.added(own, other, point=False), Label.NOT_MENTIONED)
            both = self.added(added, other, point=False)
            pointed = [one for one in both if one.points]
            yield row(self.draw.choice((both, pointed)), Label.SUPPORTED)
        yield from self.alone(near["q"], own, [near["s"]])
        if gap := near.get("g"):
            asked = near["q"] if self.draw.random() < 0.75 else ""
            yield self.row(Task.SUPPORT, gap, own, Label.SUPPORTED, "gap", asked)
            yield self.row(Task.SUPPORT, gap, added, Label.CONTRADICTED, "gap", asked)

    def answer(self, qa: Case, others: Sequence[str]) -> Iterator[Row]:
        question = qa["q"]

        def row(text: str, own: Sequence[Passage], label: Label, **more: Any) -> Row:
            bare = len(text.split()) <= BARE
            asked = question if bare or self.draw.random() < 0.75 else ""
            return self.row(Task.SUPPORT, text, own, label, "answer", asked, **more)

        own = self.passages(qa.get("e", ()))
        rests = [one for number, one in enumerate(own, 1) if number in qa["p"]]
        yield row(qa["a"], self.mixed(own, question), Label.SUPPORTED)
        alone = self.added(rests, self.draw.choice(others), point=False) if others else rests
        yield row(qa["a"], self.draw.choice((rests, alone)), Label.SUPPORTED)
        emptied = self.emptied(own)
        if emptied is None or self.draw.random() < 0.5:
            emptied = self.lacking(own, qa["p"], question)
        yield row(qa["a"], emptied, Label.NOT_MENTIONED)
        for place, wrong in enumerate(qa["w"]):
            beside = self.mixed(own, question) if place % 2 == 0 else rests
            spans = changed(qa["a"], wrong["t"])
            yield row(wrong["t"], beside, Label.NOT_SUPPORTED, wrong=spans)
        if (said := _YES_OR_NO.match(qa["a"])) and not _EITHER.search(question):
            other = "No." if said[1] == "Yes" else "Yes."
            own = self.mixed(own, question)
            yield row(f"{said[1]}.", own, Label.SUPPORTED)
            yield row(other, own, Label.CONTRADICTED)
            if emptied:
                yield row(self.draw.choice((f"{said[1]}.", other)), emptied, Label.NOT_MENTIONED)

    def statement(self, statement: Case, others: Sequence[str]) -> Iterator[Row]:
        """In twins or not at all: with `s`, a statement that is wrong here is right elsewhere."""
        text = statement["t"]

        def row(own: Sequence[Passage], label: Label) -> Row:
            return self.row(Task.SUPPORT, text, own, label, "statement")

        if statement["y"] == "supported":
            own = self.passages(statement.get("e", ()))
            yield row(self.mixed(own, text), Label.SUPPORTED)
            lacking = self.emptied(own) or self.lacking(own, range(1, 9), text)
            yield row(lacking, Label.NOT_MENTIONED)
        elif "s" in statement:
            label = Label.CONTRADICTED
            stated = self.passages(statement.get("r", ()))
            if statement["y"] == "not_mentioned":
                label, stated = Label.NOT_MENTIONED, self.added(stated, statement["s"], point=True)
            else:
                stated = [replaced(one, statement["s"]) for one in stated]
            yield row(self.mixed(self.passages(), text), label)
            yield row(self.mixed(stated, text), Label.SUPPORTED)

    def long_answer(self, answer: Case) -> Iterator[Row]:
        """The whole answer and each of its sentences, right and with one of them wrong."""
        question, parts = answer["q"], answer["a"]
        own, place = self.passages(answer.get("e", ())), answer["i"] - 1

        def row(text: str, label: Label, own: Sequence[Passage] = own, **more: Any) -> Row:
            asked = question if self.draw.random() < 0.75 else ""
            return self.row(Task.SUPPORT, text, own, label, "long", asked, **more)

        before = " ".join(parts[:place])
        wrong = " ".join([*parts[:place], answer["t"], *parts[place + 1 :]])
        at = len(before) + bool(before) + answer["t"].index(answer["x"])
        yield row(" ".join(parts), Label.SUPPORTED)
        yield row(wrong, Label.NOT_SUPPORTED, wrong=((at, at + len(answer["x"])),))
        at = answer["t"].index(answer["x"])
        yield row(answer["t"], Label.NOT_SUPPORTED, wrong=((at, at + len(answer["x"])),))
        right = parts[place] if self.draw.random() < 0.5 else self.draw.choice(parts)
        yield replace(row(right, Label.SUPPORTED), points=())
        emptied = self.emptied(own)
        if emptied:
            yield row(" ".join(parts), Label.NOT_MENTIONED, emptied)


def units(passage: Passage) -> Iterator[Passage]:
    """Each statement of a passage below its heading, and a table row below its header. Points are
    those of which the statement holds the greater part."""
    for statement in statements(passage.text):
        text, points = passage.heading, []
        if statement.slices[0][0] < len(text):
            text = ""
        for start, end in statement.slices:
            for a, z in passage.points:
                low, high = max(a, start), min(z, end)
                if high - low > (z - a) / 2:
                    points.append((len(text) + low - start, len(text) + high - start))
            text += f"{passage.text[start:end]}\n"
        yield Passage(text.rstrip("\n"), tuple(points))


def _first_small(question: str) -> str:
    """The question as it goes on in a sentence: "when is it due?"."""
    first, _, rest = question.partition(" ")
    return f"{first.lower()} {rest}" if first.istitle() else question


def replaced(passage: Passage, sentence: str) -> Passage:
    """The passage with `sentence` in place of its first pointed span, and the others gone."""
    if not passage.points:
        return passage
    (start, end), *rest = sorted(passage.points)
    text = passage.text
    for a, z in reversed(rest):
        text = text[:a] + text[z:]
    return Passage(f"{text[:start]}{sentence}{text[end:]}", ((start, start + len(sentence)),))


def changed(right: str, wrong: str) -> tuple[Span, ...]:
    """Where a wrong answer differs from the right one, if it is a near copy; else nowhere."""
    words = [list(_WORD.finditer(text)) for text in (right, wrong)]
    plain = [[match.group().lower() for match in found] for found in words]
    match = difflib.SequenceMatcher(None, plain[0], plain[1], autojunk=False)
    if match.ratio() < 0.7:
        return ()
    spans = []
    for kind, _, _, start, end in match.get_opcodes():
        if kind in ("replace", "insert"):
            spans.append((words[1][start].start(), words[1][end - 1].end()))
    return tuple(spans)
