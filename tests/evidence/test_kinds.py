"""The kind of a passage: declared, or determined from its embedding and its form."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.evidence.hints import hints
from suffice.evidence.index import Filter
from suffice.evidence.ingest import Ingest
from suffice.evidence.kinds import KINDS, Classifier, classifier_fingerprint
from suffice.evidence.library import Library
from suffice.evidence.prototypes import PROTOTYPES
from suffice.evidence.read.process import Reader
from suffice.evidence.rows import Vectors
from suffice.evidence.search import Search, open_index
from suffice.evidence.split import embedded_text
from suffice.evidence.store import Store
from suffice.models.embedder import Embedder
from suffice.settings import (
    GateSettings,
    KindSettings,
    PrototypeSettings,
    ReadSettings,
    SearchSettings,
    Settings,
)
from suffice.types import Kind, Passage
from tests.earlier import of_schema

ROWS = [json.loads(line) for line in Path(__file__).with_name("kinds.jsonl").open(encoding="utf-8")]
PASSAGES = [
    Passage(id="", document="", text=r["text"], title=r["title"], heading=tuple(r["heading"]))
    for r in ROWS
]
TRUTH = [Kind(row["kind"]) for row in ROWS]
MIXED = """---
title: Coffee machine
---

The machine holds 1.8 litres of water and draws 1,450 watts. It is serviced once a year.

## Descaling

1. Empty the tray and fill the tank with the solution.
2. Press both buttons until the light blinks.
3. Rinse twice with clear water.

## Why is the coffee cold?

The cups were not warm. Put them on the plate before you brew.

## Comments

Posted by Ella: I think the old machine was better. Does anybody else miss it?
"""
KIND_OF_HEADING = {
    (): Kind.FACT,
    ("Descaling",): Kind.PROCEDURE,
    ("Why is the coffee cold?",): Kind.QA,
    ("Comments",): Kind.DISCUSSION,
}


@pytest.fixture(scope="module")
def embedder(library: Library) -> Embedder:
    return library.embedder


@pytest.fixture(scope="module")
def classifier(embedder: Embedder) -> Classifier:
    return Classifier.of(embedder, KindSettings())


@pytest.fixture(scope="module")
def vectors(embedder: Embedder) -> Vectors:
    return embedder.embed([embedded_text(passage) for passage in PASSAGES])


def share(kinds: list[Kind], truth: list[Kind]) -> float:
    return float(np.mean([one is other for one, other in zip(kinds, truth, strict=True)]))


def test_accuracy_on_passages_that_are_no_prototypes(
    classifier: Classifier, vectors: Vectors, record_property: Callable[[str, object], None]
) -> None:
    assert len(ROWS) == 40
    texts = {text for kind in KINDS for text in PROTOTYPES[kind]}
    assert not texts & {row["text"] for row in ROWS}
    kinds = classifier.classify(PASSAGES, vectors)
    record_property("accuracy", share(kinds, TRUTH))
    assert share(kinds, TRUTH) >= 0.95
    for kind in KINDS:
        mine = [one for one, truth in zip(kinds, TRUTH, strict=True) if truth is kind]
        assert share(mine, [kind] * len(mine)) >= 0.9


def test_vector_and_form_are_both_needed(classifier: Classifier, vectors: Vectors) -> None:
    bare = [replace(passage, text="x", title="", heading=()) for passage in PASSAGES]
    both = share(classifier.classify(PASSAGES, vectors), TRUTH)
    assert share(classifier.classify(bare, vectors), TRUTH) < both
    assert share(classifier.classify(PASSAGES, np.zeros_like(vectors)), TRUTH) < both


def test_the_handbook_as_if_it_declared_nothing(library: Library, classifier: Classifier) -> None:
    batches = library.store.changes(0, library.embedder.id)
    stored = [entry for batch in batches for entry in batch]
    kinds = classifier.classify([s.passage for s in stored], np.array([s.vector for s in stored]))
    assert share(kinds, [s.passage.kind for s in stored]) >= 0.9


# Far from every prototype: whichever happens to be least far says nothing.
FAR = (
    "The painters around the harbour rejected the academy's dark palette and worked outdoors.",
    "Critics have compared the symphony with folk music, although its composer denied borrowing.",
    "The senate debated the reform for two years before the emperor withdrew it.",
    "The senator left the party in 1912 and founded a newspaper that opposed the war.",
    "She moved to the capital at seventeen, worked as a seamstress and sang in cafés at night.",
    "Headlamps light the road ahead, and the lamps at the rear warn those who follow.",
)


def test_what_is_far_from_all_prototypes_is_a_fact(
    embedder: Embedder, classifier: Classifier
) -> None:
    passages = [Passage(id="", document="", text=text) for text in FAR]
    assert set(classifier.classify(passages, embedder.embed(FAR))) == {Kind.FACT}


def test_a_kind_does_not_depend_on_the_others(classifier: Classifier, vectors: Vectors) -> None:
    some = [n for n in range(len(PASSAGES)) if n % 7 == 0]
    alone = [classifier.classify([PASSAGES[n]], vectors[n : n + 1])[0] for n in some]
    assert alone == classifier.classify(PASSAGES, vectors)[::7]
    assert classifier.classify([], np.zeros((0, vectors.shape[1]), dtype=np.float32)) == []


# A workshop whose lists of torques are instructions.
OWN = "Torque: M8 bolts 25 Nm crosswise, M10 bolts 49 Nm crosswise."
ALIKE = "Torque: M6 bolts 10 Nm crosswise, M12 bolts 85 Nm crosswise."


def test_prototypes_of_ones_own(embedder: Embedder, classifier: Classifier) -> None:
    passage = Passage(id="", document="", text=ALIKE)
    vector = embedder.embed([ALIKE])
    extended = Classifier.of(embedder, KindSettings(PrototypeSettings(procedure=(OWN,))))
    assert classifier.classify([passage], vector) == [Kind.FACT]
    assert extended.classify([passage], vector) == [Kind.PROCEDURE]
    unlike = [n for n, kind in enumerate(TRUTH) if kind is Kind.FACT]
    facts = [PASSAGES[n] for n in unlike]
    rows = embedder.embed([embedded_text(fact) for fact in facts])
    assert extended.classify(facts, rows) == classifier.classify(facts, rows)


def test_the_mark_names_what_kinds_are_told_by() -> None:
    plain = KindSettings()
    own = KindSettings(PrototypeSettings(qa=("x",)))
    assert classifier_fingerprint("m", plain) == classifier_fingerprint("m", KindSettings())
    assert (
        len(
            {
                classifier_fingerprint("m", plain),
                classifier_fingerprint("n", plain),
                classifier_fingerprint("m", own),
            }
        )
        == 3
    )


@given(st.text(max_size=300), st.text(max_size=40))
def test_hints_of_any_text(text: str, heading: str) -> None:
    found = hints(Passage(id="", document="", text=text, heading=(heading,)))
    assert len(found) == len(KINDS)
    assert all(0 <= hint <= 1.5 for hint in found)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.QA, "Q: Is it open?\nA: Yes, on Sundays."),
        (Kind.QA, "Is it open on Sundays? Yes, until noon."),
        (Kind.PROCEDURE, "1. Open the lid.\n2. Take out the filter."),
        (Kind.DISCUSSION, "Posted by Ann\nIt broke again."),
        (Kind.DISCUSSION, "ann: is it up?\nbob: no\nann: ok"),
        (Kind.FACT, "The tenant shall pay the rent in advance."),
    ],
)
def test_each_hint_speaks_for_its_kind_alone(kind: Kind, text: str) -> None:
    found = dict(zip(KINDS, hints(Passage(id="", document="", text=text)), strict=True))
    assert found.pop(kind) > 0
    assert not any(found.values())


def run(store: Store, embedder: Embedder, own: PrototypeSettings | None = None) -> Ingest:
    gate = GateSettings(kinds=KindSettings(own or PrototypeSettings()))
    settings = Settings(gate=gate)
    day = date(2026, 11, 15)
    return Ingest(
        store, embedder, settings, "default", day, False, lambda *_: None, Reader(ReadSettings())
    )


def kinds(store: Store, embedder: Embedder) -> dict[tuple[str, tuple[str, ...]], Kind]:
    stored = [entry.passage for batch in store.changes(0, embedder.id) for entry in batch]
    return {(passage.document, passage.heading): passage.kind for passage in stored}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "mixed.md").write_text(MIXED)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "s.db", create=True)


def add(store: Store, embedder: Embedder, docs: Path, own: PrototypeSettings | None = None) -> int:
    ingest = run(store, embedder, own)
    ingest.folder(docs)
    return ingest.finish()


def test_passages_of_one_document_have_kinds_of_their_own(
    store: Store, embedder: Embedder, docs: Path
) -> None:
    add(store, embedder, docs)
    found = kinds(store, embedder)
    assert found == {("mixed.md", above): kind for above, kind in KIND_OF_HEADING.items()}
    assert store.versions()[0].kind is Kind.DISCUSSION  # one of each: the first by name


def test_a_declared_kind_wins(store: Store, embedder: Embedder, docs: Path) -> None:
    (docs / "mixed.md").write_text(MIXED.replace("---", "---\nkind: fact", 1))
    add(store, embedder, docs)
    assert set(kinds(store, embedder).values()) == {Kind.FACT}
    assert store.versions()[0].kind is Kind.FACT


@pytest.mark.parametrize("engine", ["edge", "memory"])
def test_search_by_the_kind_that_was_told(
    store: Store, embedder: Embedder, docs: Path, engine: Literal["edge", "memory"]
) -> None:
    add(store, embedder, docs)
    allowed = Filter(date(2026, 11, 15), kinds=frozenset({Kind.PROCEDURE}))
    index = open_index(store, Settings(index_engine=engine), embedder.id)
    found = Search(store, index, embedder, SearchSettings(), allowed)("coffee machine")
    assert [passage.heading[-1] for passage in found.passages] == ["Descaling"]


def test_other_prototypes_tell_kinds_anew_and_embed_nothing(
    store: Store, embedder: Embedder, docs: Path
) -> None:
    (docs / "mixed.md").unlink()
    (docs / "torques.md").write_text(ALIKE)
    assert add(store, embedder, docs) == 1
    assert list(kinds(store, embedder).values()) == [Kind.FACT]
    changes = store.last_change()
    assert add(store, embedder, docs) == 0
    assert store.last_change() == changes  # nothing to tell
    assert add(store, embedder, docs, PrototypeSettings(procedure=(OWN,))) == 0
    assert list(kinds(store, embedder).values()) == [Kind.PROCEDURE]
    index = open_index(store, Settings(), embedder.id)
    allowed = Filter(date(2026, 11, 15), kinds=frozenset({Kind.PROCEDURE}))
    assert len(index.search(None, "torque", allowed, 5)) == 1


def test_a_store_of_the_first_schema(
    tmp_path: Path, embedder: Embedder, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kinds stood with versions, and one that was not declared stood as fact."""
    (docs / "said.md").write_text(MIXED.replace("---", "---\nkind: fact", 1))
    store = Store.open(tmp_path / "new.db", create=True)
    add(store, embedder, docs)
    before = kinds(store, embedder)
    store.close()
    of_schema(str(tmp_path / "old.db"), 1, monkeypatch)
    with sqlite3.connect(tmp_path / "old.db") as old:
        old.execute("ATTACH ? AS new", (str(tmp_path / "new.db"),))
        for table in ("documents", "versions", "passages", "vectors"):
            columns = [row[1] for row in old.execute(f"PRAGMA main.table_info({table})")]
            names = ",".join(f'"{column}"' for column in columns)
            # Labels stood with versions too; here there are none.
            values = names.replace('"access"', "'[]'")
            old.execute(f"INSERT INTO main.{table} ({names}) SELECT {values} FROM new.{table}")
        old.execute("UPDATE versions SET kind = 'fact'")

    opened = Store.open(tmp_path / "old.db")
    assert set(kinds(opened, embedder).values()) == {Kind.FACT}
    assert add(opened, embedder, docs) == 0
    assert kinds(opened, embedder) == before
    assert len(opened.versions()) == 2
