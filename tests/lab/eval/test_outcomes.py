"""What became of a case: right, in part, wrong or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from suffice.draft.reading import read_draft
from suffice.lab.eval.cases import Question, Recorded
from suffice.lab.eval.outcomes import answers_of, asked, irrelevant, replayed
from suffice.types import Action, Claim, Draft, Evidence, GateDecision, Level, Rescue, Verdict
from tests.lab.eval.overlap import OverlapVerifier

ASKED = Question("How long is paid leave?", True, (("16 weeks",), ("full pay",)))
OTHER = Question("Who won?", False)
GATE = GateDecision(Level.SUFFICIENT, 0.9, "learned")


def verdict(text: str, action: Action = Action.SERVE, **more: Any) -> Verdict:
    served = text if action in (Action.SERVE, Action.CAVEAT) else ""
    return Verdict(
        "?", action, "", GATE, Evidence("?"), read_draft(text, ()), served, confidence=0.7, **more
    )


@pytest.mark.parametrize(
    ("text", "answer", "good"),
    [
        ("It is 16 weeks, on full pay.", "right", 1.0),
        ("It is 16 weeks.", "in part", 0.5),
        ("It is long.", "wrong", 0.0),
        ("It is 16 weeks, on full pay, for interns too.", "wrong", 0.0),
    ],
)
def test_an_answer_is_right_only_without_what_it_must_not_say(
    text: str, answer: str, good: float
) -> None:
    found = asked(replace(ASKED, excludes=("for interns",)), verdict(text))
    assert (found.answer, found.good) == (answer, good)
    assert found.result == f"answerable: {answer}"
    assert (found.gate, found.confidence) == (0.9, 0.7)


def test_what_misleads_beside_a_right_answer_makes_it_wrong() -> None:
    """The verifier of these tests counts the words that question and statement share."""
    misleads = irrelevant(OverlapVerifier())
    right = "Paid leave is 16 weeks long, on full pay."
    near, far = f"{right} Leave is paid monthly.", f"{right} Dogs bark."
    assert asked(ASKED, verdict(near), misleads).answer == "right"
    assert asked(ASKED, verdict(far), misleads).answer == "wrong"
    told = replace(ASKED, excludes=())
    assert asked(told, verdict(far), misleads).answer == "right"


@pytest.mark.parametrize("above", ["Dogs bark:", "| Dog | Bark |\n|---|---|", "| Dog |\n| :-: |"])
def test_what_only_introduces_a_statement_does_not_mislead(above: str) -> None:
    quoted = verdict(f"{above}\n16 weeks on full pay")
    both = [(0, len(above)), (len(above) + 1, len(quoted.released))]
    claims = tuple(Claim(quoted.released[a:b], a, b) for a, b in both)
    found = replace(quoted, draft=Draft(quoted.released, claims))
    assert asked(ASKED, found, irrelevant(OverlapVerifier())).answer == "right"


def test_a_question_without_an_answer_is_refused_or_answered() -> None:
    assert asked(OTHER, verdict("France.")).answer == "answered"
    held = asked(OTHER, verdict("", Action.WITHHOLD))
    assert (held.answer, held.good) == ("refused", 1.0)


@pytest.mark.parametrize(
    ("question", "label", "found", "answer", "result"),
    [
        (ASKED, "right", verdict("Sixteen."), "right", "right: served"),
        (ASKED, "partial", verdict("Long.", Action.CAVEAT), "in part",
         "partial: served with a caveat"),
        (ASKED, "declined", verdict("", Action.WITHHOLD), "refused",
         "declined: withheld by the checks"),
        (ASKED, "right", verdict("No.", rescue=Rescue.EXTRACTIVE), "wrong",
         "right: quoted instead"),
        (OTHER, "partial", verdict("Not said.", Action.CAVEAT), "gap named",
         "partial: served with a caveat"),
        (OTHER, "partial", verdict("Not said."), "answered", "partial: served"),
        (OTHER, "declined", verdict("A.", rescue=Rescue.EXTRACTIVE), "answered",
         "declined: quoted instead"),
    ],
)  # fmt: skip
def test_a_recorded_draft_is_what_its_label_says(
    question: Question, label: str, found: Verdict, answer: str, result: str
) -> None:
    one = replayed(Recorded(question, "", (), label), found)
    assert (one.answer, one.result) == (answer, f"recorded, {result}")


def test_a_trimmed_draft_is_right_as_far_as_it_goes() -> None:
    case = Recorded(ASKED, "", (), "right")
    for text, answer in (("16 weeks on full pay.", "right"), ("Sixteen weeks.", "in part")):
        cut = verdict(text, Action.CAVEAT, rescue=Rescue.TRIMMED)
        assert cut.draft
        found = replayed(case, replace(cut, draft=replace(cut.draft, claimed=2)))
        assert (found.answer, found.result) == (answer, "recorded, right: trimmed")


def test_answers_are_counted_for_both_kinds_of_questions() -> None:
    outcomes = [
        asked(ASKED, verdict("It is 16 weeks.")),
        asked(OTHER, verdict("France.")),
        asked(OTHER, verdict("", Action.REVIEW)),
    ]
    assert answers_of([ASKED, OTHER, OTHER], outcomes) == {
        "answerable": {"questions": 1, "right": 0, "in part": 1, "wrong": 0, "refused": 0},
        "others": {"questions": 2, "refused": 1, "gap named": 0, "answered": 1},
    }
