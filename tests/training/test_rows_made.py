"""Rows are the same on every run, and what is made from them keeps its label true."""

from __future__ import annotations

from typing import Any

import pytest

from training.held import Held, held_rows
from training.records import record_rows
from training.rows import (
    ROOM,
    Answering,
    Label,
    Row,
    Task,
    answer_rows,
    cut,
    sufficiency_rows,
    support_rows,
    whole_sentences,
)

DOCUMENT = (
    "The museum opened in 1912. Clara Weiss founded it with money from Otto Brandt. It is not open "
    "on Mondays. Visitors pay 14 euros, and children pay 7 euros. The east wing was added later."
)
QUESTION: dict[str, Any] = {
    "set": "squad2",
    "question": "When did the museum open?",
    "evidence": [DOCUMENT],
    "sufficient": True,
    "answer": "1912",
}


def claims(count: int) -> list[dict[str, Any]]:
    labels = ("entail", "neutral", "contradict", "not_entail", "partial")
    return [
        {
            "set": "bump",
            "question": None,
            "evidence": f"{DOCUMENT} Room {n} is closed.",
            "claim": f"Room {n} is closed.",
            "label": labels[n % 5],
            "spans": [[5, 6, "number"]] if n % 5 == 2 else None,
        }
        for n in range(count)
    ]


def questions(count: int) -> list[dict[str, Any]]:
    return [
        QUESTION
        | {
            "question": f"When did museum {n} in Weiss harbour open?",
            "evidence": [f"Museum {n} of Weiss harbour opened in {1900 + n}.", DOCUMENT],
            "answer": str(1900 + n),
        }
        for n in range(count)
    ]


def test_the_same_seed_gives_the_same_rows() -> None:
    first = list(support_rows(claims(40), seed=3))
    assert first == list(support_rows(claims(40), seed=3))
    assert first != list(support_rows(claims(40), seed=4))
    asked = list(sufficiency_rows(questions(20), seed=3))
    assert asked == list(sufficiency_rows(questions(20), seed=3))
    assert asked != list(sufficiency_rows(questions(20), seed=4))
    assert list(record_rows(40, 3, ["A sentence."])) == list(record_rows(40, 3, ["A sentence."]))


def test_labelled_rows_keep_their_label_and_the_words_that_are_wrong() -> None:
    made = list(support_rows(claims(10), seed=3))
    labels = {row.text: row.label for row in made}
    assert labels["Room 0 is closed."] is Label.SUPPORTED
    assert labels["Room 1 is closed."] is Label.NOT_MENTIONED
    assert labels["Room 2 is closed."] is Label.CONTRADICTED
    assert labels["Room 3 is closed."] is labels["Room 4 is closed."] is Label.NOT_SUPPORTED
    assert {row.text[5:6] for row in made if row.wrong} == {"2", "7"}


def test_evidence_that_is_enough_gives_evidence_that_is_not() -> None:
    made = list(sufficiency_rows([QUESTION], seed=1))
    without = [one for one in made if one.origin == "squad2+cut"]
    assert without
    assert all(one.label is Label.NOT_MENTIONED and "1912" not in one.evidence for one in without)


def test_a_passage_that_holds_the_answer_is_no_stranger() -> None:
    made = [row for row in sufficiency_rows(questions(20), seed=1) if "+strangers" in row.origin]
    years = {row["question"]: row["answer"] for row in questions(20)}
    assert made
    assert not [row for row in made if years[row.text] in row.evidence]
    answering = Answering([QUESTION])
    assert answering(QUESTION, "It opened in 1912.")
    assert not answering(QUESTION, "It opened later.")


@pytest.mark.parametrize(
    ("sufficient", "label"), [(True, Label.SUPPORTED), (False, Label.NOT_SUPPORTED)]
)
def test_a_short_answer_is_read_with_its_question(sufficient: bool, label: Label) -> None:
    (row,) = answer_rows([QUESTION | {"sufficient": sufficient}])
    assert (row.task, row.text, row.question) == (Task.SUPPORT, "1912", QUESTION["question"])
    assert row.label is label


def test_of_a_minimal_pair_only_the_sentence_that_differs_is_wrong() -> None:
    pair = {"set": "bump", "evidence": DOCUMENT, "question": None}
    right = pair | {"claim": "It opened in 1912. It is closed on Mondays.", "label": "entail"}
    wrong = pair | {"claim": "It opened in 1921. It is closed on Mondays.", "label": "not_entail"}
    made = {row.text: row.label for row in whole_sentences([right, wrong])}
    assert made == {
        "It opened in 1912.": Label.SUPPORTED,
        "It is closed on Mondays.": Label.SUPPORTED,
        "It opened in 1921.": Label.NOT_SUPPORTED,
    }


def test_points_move_along_when_evidence_is_cut() -> None:
    answer = "The museum opened in 1912."
    filler = "".join(f"Something else stands in line {n} of this text. " for n in range(60))
    evidence = f"{filler}{answer} {filler}"
    at = evidence.index(answer)
    said = "When did the museum open?"
    row = Row(Task.SUPPORT, said, evidence, Label.SUPPORTED, "t", points=((at, at + len(answer)),))
    short = cut(row)
    assert len(short.evidence) <= ROOM
    assert [short.evidence[a:z] for a, z in short.points] == [answer]
    assert cut(short) == short


def test_held_questions_share_nothing_with_the_rest() -> None:
    rows = [
        QUESTION | {"question": f"Question {n}?", "evidence": [f"Passage {n // 2}.", f"Own {n}."]}
        for n in range(400)
    ]
    kept = held_rows(rows)
    rest = [row for row in rows if row not in kept]
    ours, theirs = ({text for row in some for text in row["evidence"]} for some in (kept, rest))
    assert 10 < len(kept) < 90
    assert ours.isdisjoint(theirs)
    held = Held(kept)
    made = list(sufficiency_rows(kept, seed=1))
    assert made
    assert all(row in held for row in made)
    assert not [row for row in sufficiency_rows(rest, seed=1) if row in held]
