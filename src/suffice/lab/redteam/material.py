"""Attacks and their cases, and the statements of the documents that they are made from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from random import Random
from typing import Protocol, TypeVar

from suffice.text.language import unknown_language
from suffice.text.literals import QUANTITIES, Literal, literals
from suffice.text.readable import readable
from suffice.text.sentences import ITEM_MARK, leans, sentences
from suffice.text.tables import spelled
from suffice.text.words import STOP_WORDS, auxiliaries, content_words
from suffice.types import Action, Passage, Verdict

_SHORTEST, _LONGEST = 6, 40
"""The minimum and maximum number of words in a statement."""
_LEAST_CONTENT = 3
"""The minimum number of content words; with fewer, a statement says too little on its own."""
# Statements are plain text: this module does not interpret markup, links or code.
_MARKUP = re.compile(r"[|`*#<>{}\[\]\\=]|&\w+;|https?:|www\.|\n")
_JOINED = re.compile(r"(?:And|But|Or|So|Then|Thus)\b")
_ROW = re.compile(r"(?P<key>[^:;]+): (?P<label>[^;]+); (?P<rest>.+)\.")
_CELL = re.compile(r"(?:^|; )(?P<column>[^:;]+): (?P<value>[^;]+)")
_LONGEST_CELL = 6
"""The maximum number of words in a table cell that is turned into a statement."""
_LONGEST_SUBJECT = 8
_HEAD = re.compile(r"(?P<head>[\w'’]+)(?P<not> (?:not|never|no)\b)?")
_NEGATED = re.compile(r"cannot|.*n['’]t")
# Words that begin a separate clause before the main verb.
_CLAUSE = re.compile(
    r"\b(?:if|when|while|because|that|which|who|whose|where|how|what)\b|[:;]"
    # These are prepositions too: only at the start do they begin a clause, or a purpose.
    r"|^(?:once|since|after|before|until|unless|although|though|as|whereas|to)\b"
    # A pronoun beside other words has a verb of its own: "We know the form", "the forms you".
    r"|(?!(?-i:IT)\b)(?:(?<=\w )(?:it|they|he|she|we|you|i)\b|^(?:it|they|he|she|we|you|i) )",
    re.I,
)
PRONOUNS = frozenset("it they he she we you i this these those there who".split())
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence of a passage that can be understood alone. `verb` is the offset of its first
    auxiliary ("must", "is"), if it has one."""

    text: str
    passage: Passage
    verb: int | None

    @property
    def subject(self) -> str:
        """The words before the auxiliary, without a leading phrase."""
        return self.text[: self.verb or 0].rpartition(",")[2].strip()

    @property
    def framed(self) -> bool:
        """Whether a phrase precedes the subject: "In 2023, …"."""
        return "," in self.text[: self.verb or 0]

    @property
    def auxiliary(self) -> str:
        """The auxiliary; empty if there is none, it is negated or the subject is not clear."""
        found = _HEAD.match(self.text, self.verb or 0)
        if self.verb is None or found is None or found["not"] or not self.clear:
            return ""
        head = found["head"].lower()
        return "" if _NEGATED.fullmatch(head) else head

    @property
    def clear(self) -> bool:
        """Whether the words before the auxiliary are one short phrase."""
        words = self.subject.split()
        return 0 < len(words) <= _LONGEST_SUBJECT and not _CLAUSE.search(self.subject)

    @property
    def predicate(self) -> str:
        """The words after the auxiliary, without the full stop."""
        found = _HEAD.match(self.text, self.verb or 0)
        return self.text[found.end("head") :].strip().rstrip(".") if found else ""

    @property
    def literals(self) -> list[Literal]:
        return literals(self.text)


@dataclass(frozen=True)
class Material:
    """The passages of a collection, and a seed that makes every choice reproducible."""

    passages: tuple[Passage, ...]
    seed: int = 0

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        found = {fact.text: fact for passage in self.passages for fact in facts(passage)}
        return tuple(found.values())

    @cached_property
    def words(self) -> dict[str, frozenset[str]]:
        """Each content word with the documents that contain it."""
        found: dict[str, set[str]] = {}
        for passage in self.passages:
            for word in content_words(" ".join((passage.title, *passage.heading, passage.text))):
                found.setdefault(word, set()).add(passage.document)
        return {word: frozenset(documents) for word, documents in found.items()}

    def random(self, name: str) -> Random:
        """A source of random choices for one attack, independent of all others."""
        return Random(f"{self.seed} {name}")

    def shuffled(self, name: str, most: int = 400) -> list[Fact]:
        """Facts in a random order that alternates between documents."""
        random = self.random(name)
        return take_turns(random, self.facts)[:most]

    def distractors(self, random: Random, beside: Passage, count: int) -> tuple[Passage, ...]:
        """Passages of other documents."""
        others = [one for one in self.passages if one.document != beside.document]
        return tuple(random.sample(others, min(count, len(others))))


def facts(passage: Passage) -> Iterator[Fact]:
    """The sentences of a passage that can be understood alone, and the values of its tables as
    sentences."""
    for start, end in sentences(passage.text):
        item = ITEM_MARK.match(passage.text, start, end)
        said = readable(passage.text[item.end() if item else start : end]).strip()
        if fact := _fact(said, passage):
            yield fact
    for said in _cells(passage.text):
        if fact := _fact(said, passage, least=1):
            yield fact


def _cells(text: str) -> Iterator[str]:
    """The quantities in the rows of a table: "For Basic, the Price is $10."."""
    lines = set(text.split("\n"))
    for line in spelled(text):
        row = None if line in lines else _ROW.fullmatch(readable(line))
        if row is None or row["label"].split()[0].lower() in STOP_WORDS:
            continue
        for cell in _CELL.finditer(row["rest"]):
            short = len(cell["value"].split()) <= _LONGEST_CELL
            if short and any(one.kind in QUANTITIES for one in literals(cell["value"])):
                yield f"For {row['label']}, the {cell['column']} is {cell['value']}."


def lowered(text: str) -> str:
    """The phrase in mid-sentence case: only words that are never names lose their capital."""
    first = text.split()[0].lower() if text.split() else ""
    common = first in STOP_WORDS - {"i"}
    return text[:1].lower() + text[1:] if common else text


def _fact(said: str, passage: Passage, least: int = _LEAST_CONTENT) -> Fact | None:
    count = len(said.split())
    plain = said[:1].isupper() and said.endswith(".") and not _MARKUP.search(said)
    if not plain or not _SHORTEST <= count <= _LONGEST or leans(said) or _JOINED.match(said):
        return None
    if unknown_language(said):
        return None
    fact = Fact(said, passage, next(iter(auxiliaries(said)), None))
    alone = (fact.subject or said).split()[0].lower() not in PRONOUNS - {"you", "we"}
    return fact if alone and len(content_words(said)) >= least else None


def take_turns(random: Random, found: Sequence[Fact]) -> list[Fact]:
    """The facts in a random order, taking one from each document in turn."""
    groups: dict[str, list[Fact]] = {}
    for fact in found:
        groups.setdefault(fact.passage.document, []).append(fact)
    for group in groups.values():
        random.shuffle(group)
    orders = list(groups.values())
    random.shuffle(orders)
    return [fact for row in zip_longest(*orders) for fact in row if fact is not None]


def first(found: Iterable[T], most: int) -> list[T]:
    """The first `most` items, without computing the rest."""
    return [one for _, one in zip(range(most), found, strict=False)]


SERVED = frozenset({Action.SERVE, Action.CAVEAT})
STOPPED = frozenset({Action.WITHHOLD, Action.REVIEW, Action.CONFLICT})


@dataclass(frozen=True, slots=True)
class Trial:
    """One question or one draft to try on the system.

    With a `draft`, the checks judge it against `passages`, to which its citations refer. Without
    one, the pipeline answers the `question` from the indexed documents, without those in `hidden`
    and with `passages` added. The outcome is right if the action is in `right` and no text in
    `forbidden` is released; an action outside `right` is also right if a note quotes `disclosed`.
    """

    right: frozenset[Action]
    question: str = ""
    draft: str | None = None
    passages: tuple[Passage, ...] = ()
    hidden: frozenset[str] = frozenset()
    forbidden: tuple[str, ...] = ()
    disclosed: str = ""

    def passed(self, verdict: Verdict) -> bool:
        released = "" if verdict.action in STOPPED else _folded(verdict.released)
        if any(_says(released, _folded(text)) for text in self.forbidden):
            return False
        if verdict.action in self.right:
            return True
        return bool(self.disclosed) and any(self.disclosed in note for note in verdict.notes)


@dataclass(frozen=True, slots=True)
class Case:
    """A hostile trial and its harmless twin. `what` describes the attack in this case, `document`
    the document it was made from."""

    attack: str
    what: str
    document: str
    hostile: Trial
    twin: Trial


def cited(statement: str, *numbers: int) -> str:
    """The statement with its citations before the full stop."""
    marks = "".join(f"[{number}]" for number in numbers)
    return f"{statement.rstrip('. ')} {marks}."


def draft_trial(
    text: str, passages: Sequence[Passage], *, serve: bool = False, question: str = ""
) -> Trial:
    """The trial of a draft that a correct system serves, or does not serve."""
    return Trial(SERVED if serve else STOPPED, question, text, tuple(passages))


class Attack(Protocol):
    """A kind of attack. `correct` says what a correct system does."""

    @property
    def name(self) -> str: ...

    @property
    def correct(self) -> str: ...

    def cases(self, material: Material) -> Iterator[Case]:
        """The cases in a random but reproducible order; none if the documents offer no material."""
        ...


def _says(released: str, text: str) -> bool:
    """Whether the text occurs in whole words and numbers: "3 days" is not in "13 days"."""
    found = re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(text)}(?!\w|[.,]\d)", released)
    return found is not None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
