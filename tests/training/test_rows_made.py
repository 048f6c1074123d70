"""Made rows are the same on every run, and edits leave no mark of their own."""

from __future__ import annotations

import random

from edits import CONTRADICTED, edit, negated, number, swapped, word
from records import record_rows
from rows import Label, own_sentences, sufficiency_rows

DOCUMENT = (
    "The museum opened in 1912. Clara Weiss founded it with money from Otto Brandt. It is not open "
    "on Mondays. Visitors pay 14 euros, and children pay 7 euros. The east wing was added later."
)


def test_the_same_seed_gives_the_same_rows() -> None:
    first = list(own_sentences([DOCUMENT] * 5, 5, seed=3))
    assert first
    assert first == list(own_sentences([DOCUMENT] * 5, 5, seed=3))
    assert list(record_rows(40, 3, ["A sentence."])) == list(record_rows(40, 3, ["A sentence."]))


def test_an_edit_changes_the_claim_and_is_never_called_supported() -> None:
    for seed in range(60):
        edited = edit("Visitors pay 14 euros in 1912.", DOCUMENT, random.Random(seed))
        assert edited is None or (edited[0] != "Visitors pay 14 euros in 1912." and edited[1] > 0)


def test_a_number_is_changed() -> None:
    made = number("The museum opened in 1912.", DOCUMENT, random.Random(1))
    assert made is not None
    assert "1912" not in made[0]


def test_a_negation_is_dropped_and_never_added() -> None:
    draw = random.Random(1)
    assert negated("It is open on Tuesdays.", DOCUMENT, draw) is None
    assert negated("It is not open on Mondays.", DOCUMENT, draw) == (
        "It is open on Mondays.",
        CONTRADICTED,
    )


def test_a_word_is_swapped_only_for_one_that_the_evidence_holds() -> None:
    draw = random.Random(1)
    assert word("All rooms are heated.", "The rooms are heated.", draw) is None
    assert word("The highest of all.", "It is the lowest point.", draw) is not None


def test_names_in_a_list_are_not_swapped() -> None:
    draw = random.Random(1)
    assert swapped("It was Clara, Otto and Brandt.", DOCUMENT, draw) is None
    assert swapped("Clara Weiss supported Otto Brandt.", DOCUMENT, draw) is not None


def test_evidence_that_is_enough_gives_evidence_that_is_not() -> None:
    row = {
        "set": "squad2",
        "question": "When did the museum open?",
        "evidence": [DOCUMENT],
        "sufficient": True,
        "answer": "1912",
    }
    made = list(sufficiency_rows([row], seed=1, made=True))
    cut = [one for one in made if one.origin == "squad2+cut"]
    assert cut
    assert all(one.label is Label.NOT_MENTIONED and "1912" not in one.evidence for one in cut)
