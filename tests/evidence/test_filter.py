"""Unhelpful sentences are left out of what a drafter reads; the evidence is unchanged."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import Library
from suffice.draft.extractive import Extractive
from suffice.engine import Engine
from suffice.errors import ModelUnreachable
from suffice.evidence.filter import Helpful, joined, linked, units
from suffice.evidence.rows import Vectors
from suffice.models.verifier import CachedEmbedder
from suffice.settings import CollectionSettings, DraftSettings, FilterSettings
from suffice.text.sentences import sentences
from suffice.types import Evidence, Passage, Retrieved
from tests.fakes import HashEmbedder

QUESTIONS = [json.loads(line) for line in Path("examples/questions.jsonl").read_text().splitlines()]
MENU = (
    "Remote work is allowed on 3 days per week. The soup of the day is carrot with ginger. "
    "Vegetables come from a farm nearby."
)
TABLE = """The fee depends on the zone.

| Zone | Fee |
| --- | --- |
| North | 4 euros |
| South | 9 euros |

**Q:** Who pays?

**A:** The sender pays."""


def evidence(*texts: str, question: str = "How many remote days are allowed?") -> Evidence:
    items = (
        Retrieved(Passage(id=f"p{n}", text=text, document="d", start=7, end=7 + len(text)), 0.5)
        for n, text in enumerate(texts)
    )
    return Evidence(question, tuple(items))


def test_what_does_not_help_is_left_out(library: Library) -> None:
    marked = Helpful(library.embedder)(evidence(MENU))
    assert marked.items[0].reading == "Remote work is allowed on 3 days per week."
    assert marked.removed == pytest.approx(1 - 42 / len(MENU))


def test_the_passage_stays_whole_and_every_part_knows_its_place(library: Library) -> None:
    source = f"Header\n{MENU}"
    found = evidence(MENU)
    marked = Helpful(library.embedder)(found)
    assert marked.passages == found.passages
    assert found.items[0].kept is None
    passage = marked.items[0].passage
    for start, end in marked.items[0].kept or ():
        assert source[passage.start + start : passage.start + end] == passage.text[start:end]


def test_a_passage_that_does_not_help_is_not_read_at_all(library: Library) -> None:
    marked = Helpful(library.embedder)(evidence(MENU[:42], MENU[43:]))
    assert [item.reading for item in marked] == [MENU[:42], ""]
    assert marked.items[0].kept is None


def test_if_nothing_helps_all_is_kept(library: Library) -> None:
    found = evidence(MENU[43:], question="How tall is Mount Everest?")
    assert Helpful(library.embedder)(found) == found
    assert Helpful(library.embedder)(Evidence("q")) == Evidence("q")


def test_what_a_helping_sentence_names_is_followed(library: Library) -> None:
    first = "The travel agency of the company is Lodestar."
    second = "Lodestar sits in a former cinema in Ghent."
    aside = "The cinema closed for good when its owner retired."
    marked = Helpful(library.embedder)(
        evidence(f"{first} {aside}", second, question="Where is the company's travel agency?")
    )
    assert [item.reading for item in marked] == [first, second]


class Unreachable(HashEmbedder):
    def embed(self, texts: Sequence[str]) -> Vectors:
        raise ModelUnreachable("No answer from the embedder.")


def test_without_an_embedder_passages_are_read_whole() -> None:
    marked = Helpful(Unreachable())(evidence(MENU))
    assert marked.removed == 0
    assert marked.notes == (
        "The passages were not filtered before drafting: No answer from the embedder.",
    )


def test_both_numbers_are_settings(library: Library) -> None:
    def removed(**settings: Any) -> float:
        return Helpful(library.embedder, FilterSettings(**settings))(evidence(MENU)).removed

    assert removed(min_similarity=0.0) < removed(min_similarity=0.3)
    many = "Allowed days are many, remote or not, he sighed into his soup."
    found = evidence(f"{MENU} {many}")
    strict = Helpful(library.embedder, FilterSettings(min_similarity=0.95, min_word_overlap=1.0))(
        found
    )
    loose = Helpful(library.embedder, FilterSettings(min_similarity=0.95, min_word_overlap=0.5))(
        found
    )
    assert strict.items[0].reading == many
    assert loose.items[0].reading == f"{MENU[:42]}\n{many}"


def test_units_keep_together_what_belongs_together() -> None:
    wholes = [[TABLE[a:b] for a, b in unit.spans] for unit in units(TABLE)]
    assert wholes[0] == ["The fee depends on the zone."]
    assert ["| Zone" in "".join(parts) for parts in wholes[1:3]] == [True, True]
    assert wholes[3] == ["**Q:** Who pays?\n\n**A:** The sender pays."]


passages = st.lists(
    st.sampled_from(
        [
            "Leave is 20 weeks. They are paid.",
            "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",
            "Why?\n\nBecause.",
            "You need:\n- a badge\n- a key",
            "Is it? Is it really?",
            "# Heading",
            "```\ncode\n```",
        ]
    ),
    min_size=1,
    max_size=5,
).map("\n\n".join)


@given(passages)
def test_every_sentence_is_in_a_unit(text: str) -> None:
    spans = [span for unit in units(text) for span in unit.spans]
    for start, end in sentences(text):
        assert any(a <= start and end <= b for a, b in spans)


@given(passages, st.integers(2, 5), st.integers(0, 4))
def test_spans_are_in_order_apart_and_within(text: str, every: int, first: int) -> None:
    chosen = [span for unit in list(units(text))[first::every] for span in unit.spans]
    found = list(joined(text, chosen))
    assert found == sorted(found)
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(text[a[1] : b[0]].strip() for a, b in pairwise(found))
    assert all(any(a <= s and e <= b for a, b in found) for s, e in chosen)


@given(st.lists(st.tuples(st.sets(st.sampled_from(["Ann", "Bob", "Cid"])), st.booleans())))
def test_links_only_add(rows: list[tuple[set[str], bool]]) -> None:
    texts = [" ".join(sorted(names)) for names, _ in rows]
    helps = [sure for _, sure in rows]
    found = linked(texts, helps)
    assert all(after >= before for before, after in zip(helps, found, strict=True))
    assert linked(texts, found) == found  # nothing more to follow
    assert linked(texts, [False] * len(texts)) == [False] * len(texts)


def test_no_answer_of_the_handbook_is_left_out(
    library: Library, record_property: Callable[[str, object], None]
) -> None:
    search, helpful = library.search(), Helpful(library.embedder)
    rows = [row for row in QUESTIONS if row["answerable"]]
    assert len(rows) == 30
    removed = []
    for row in rows:
        marked = helpful(search(row["question"]))
        mine = [item for item in marked if item.passage.document == row["document"]]
        place = [(item, item.passage.text.find(row["answer"])) for item in mine]
        told = [(item, start) for item, start in place if start >= 0]
        assert told, row
        assert any(item.reads(s, s + len(row["answer"])) for item, s in told), row
        removed.append(marked.removed)
    share = sum(removed) / len(removed)
    record_property("removed", share)
    assert 0.1 < share < 0.3


def test_the_extractive_drafter_answers_as_before(library: Library) -> None:
    embedder = CachedEmbedder(library.embedder)
    search, helpful = library.search(), Helpful(embedder)
    drafter = Extractive(embedder, DraftSettings())
    for row in QUESTIONS[::4]:
        found = search(row["question"])
        assert drafter.write(helpful(found)) == drafter.write(found)


def test_a_drafter_quotes_only_what_it_may_read(library: Library) -> None:
    text = "Leave is 20 weeks. Leave is paid in full."
    item = Retrieved(Passage(id="p", text=text, document="d"), 0.5, kept=((0, 18),))
    draft = Extractive(
        library.embedder, DraftSettings(min_similarity=0.0, min_share_of_best=0.0)
    ).write(Evidence("How is leave paid?", (item,)))
    assert draft.text == "Leave is 20 weeks. [1]"


def test_the_pipeline_reports_what_was_removed(library: Library) -> None:
    question = "What is the maximum price of a hotel room?"
    verdict = Engine(library=library).pipeline().answer(question)
    assert verdict.served
    assert 0 < verdict.evidence.removed < 1
    off = CollectionSettings(filter=FilterSettings(enabled=False))
    whole = Engine(library=library).pipeline(settings=off).answer(question)
    assert whole.evidence.removed == 0
    assert whole.released == verdict.released
