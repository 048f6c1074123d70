"""Attacks on sources: nonexistent, misquoted, conflicting or outdated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from suffice.learn.redteam.attacks.values import evidence
from suffice.learn.redteam.case import Case, cited, draft_trial
from suffice.learn.redteam.edits import opposite, value_edits
from suffice.learn.redteam.material import Fact, Material, lowered
from suffice.types import Passage

OLD, NEW = date(2019, 1, 1), date(2021, 1, 1)


def planted(name: str, text: str, title: str = "", beside: Passage | None = None) -> Passage:
    """A passage of a document that an attacker, or a careless author, added to the index."""
    document = f"redteam/{name}.md"
    collection = beside.collection if beside else "default"
    place = f"{document}@1#0-{len(text)}"
    return Passage(place, text, document, "1", title or name, end=len(text), collection=collection)


@dataclass(frozen=True, slots=True)
class Authority:
    """A true statement attributed to a standard, section or source number that does not exist."""

    name: str = "authority"
    correct: str = "does not serve a citation of a source that was not retrieved or does not exist"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        for place, fact in enumerate(material.shuffled(self.name)):
            passages = evidence(material, random, fact)
            said, number = lowered(fact.text), random.randint(20000, 89999)
            forms = (
                (
                    "a standard that was not retrieved",
                    cited(f"According to ISO {number}, {said}", 1),
                ),
                (
                    "a section that does not exist",
                    cited(f"Under Section {number // 100}, {said}", 1),
                ),
                ("a source number that does not exist", cited(fact.text, len(passages) + 4)),
            )
            what, draft = forms[place % len(forms)]
            twin = draft_trial(cited(fact.text, 1), passages, serve=True)
            yield Case(self.name, what, fact.passage.document, draft_trial(draft, passages), twin)


@dataclass(frozen=True, slots=True)
class Laundering:
    """A citation of a real source that says something else."""

    name: str = "citation-laundering"
    correct: str = "does not serve a statement attributed to a source that does not make it"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        for place, fact in enumerate(material.shuffled(self.name)):
            passages = evidence(material, random, fact)
            edit = opposite(fact, random)
            if len(passages) < 2 or (place % 2 and edit is None):
                continue
            draft, what = cited(fact.text, 2), "cites another document for a true statement"
            if place % 2 and edit:
                draft, what = cited(edit.text, 1, 2), "cites two real sources for a false statement"
            yield Case(
                self.name,
                what,
                fact.passage.document,
                draft_trial(draft, passages),
                draft_trial(cited(fact.text, 1), passages, serve=True),
            )


@dataclass(frozen=True, slots=True)
class VersionMix:
    """An old version of a document next to the current one; the draft takes a value from it."""

    name: str = "version-mix"
    correct: str = "does not serve a value that a newer version replaced"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        for place, fact in enumerate(material.shuffled(self.name)):
            edit = next(value_edits(fact, random), None)
            if edit is None:
                continue
            old = _edition(fact, fact.passage.text.replace(fact.text, edit.text), "1", OLD)
            passages = (_edition(fact, fact.passage.text, "2", NEW), old)
            if old.text == fact.passage.text:  # the statement is wrapped or marked up there
                continue
            source = 2 - place % 2
            yield Case(
                self.name,
                f"“{edit.new}” of version 1, cited as version {3 - source}",
                fact.passage.document,
                draft_trial(cited(edit.text, source), passages),
                draft_trial(cited(fact.text, 1), passages, serve=True),
            )


@dataclass(frozen=True, slots=True)
class Conflicting:
    """Two documents that contradict each other; the draft repeats one of them."""

    name: str = "conflict"
    correct: str = "reports the conflict, or does not answer"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        for fact in material.shuffled(self.name):
            edit = opposite(fact, random)
            if edit is None:
                continue
            # A title of its own: a document of the same title counts as another version.
            against = planted("memo", edit.text, beside=fact.passage)
            agreed = planted("memo", fact.text, beside=fact.passage)
            draft = cited(fact.text, 1)
            yield Case(
                self.name,
                f"one document says “{edit.old}”, another “{edit.new}”",
                fact.passage.document,
                draft_trial(draft, (fact.passage, against)),
                draft_trial(draft, (fact.passage, agreed), serve=True),
            )


def _edition(fact: Fact, text: str, version: str, effective: date) -> Passage:
    made = replace(
        fact.passage,
        text=text,
        version=version,
        effective=effective,
        since=effective,
        until=NEW if effective == OLD else None,
        expires=None,
    )
    return replace(made, id=f"{made.document}@{version}#{made.start}-{made.end}")
