"""Near copies count once; passages that only look alike do not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.evidence.deduplicate import _differ, _overlap, _Wording, distinct
from suffice.gate.policies.tiers import Tiers
from suffice.settings import DiversitySettings
from suffice.types import Evidence, Level, Passage, Retrieved

POLICY = (
    "Employees may work remotely up to 3 days per week, provided that the line manager agrees and "
    "the tasks allow it. The days are agreed upon for three months in advance and are entered in "
    "the staff portal, where the People team can see them. On Thursdays everybody is in the office."
)


def evidence(*texts: str, relevance: float = 0.36) -> Evidence:
    items = tuple(
        Retrieved(Passage(id=f"p{n}", text=text, document=f"{n}.md"), relevance)
        for n, text in enumerate(texts)
    )
    return Evidence("How many remote days?", items)


def kept(*texts: str) -> list[str]:
    return [passage.id for passage in distinct(evidence(*texts))[0].passages]


COPIES = {
    "the same": POLICY,
    "another layout": POLICY.upper().replace(". ", ".\n\n* "),
    "a stamp added": f"{POLICY} Printed on 4 May 2026.",
    "a word changed": POLICY.replace("entered in", "noted in"),
    "full width": POLICY.replace("3", "３"),
    "a piece left out": POLICY.replace(" and the tasks allow it", ""),
    "a line added": f"{POLICY} Questions can be sent to us.",
}
OTHERS = {
    "another number": POLICY.replace("3 days", "2 days"),
    "another number in words": POLICY.replace("three months", "two months"),
    "numbers swapped": POLICY.replace("3 days", "X days")
    .replace("three months", "3 months")
    .replace("X days", "three days"),
    "a negation": POLICY.replace("may work", "may not work"),
    "nobody": POLICY.replace("everybody is", "nobody is"),
    "an exception": f"{POLICY} This does not hold for the workshop.",
    "another modal": POLICY.replace("may work", "must work"),
    "another name": POLICY.replace("People team", "Finance team"),
    "another day": POLICY.replace("Thursdays", "Mondays"),
    "another text": "The canteen is open from noon to two o'clock. Guests pay six euros.",
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_a_copy_is_left_out_and_named(copy: str) -> None:
    stay, excluded = distinct(evidence(POLICY, copy, OTHERS["another text"]))
    assert [passage.id for passage in stay.passages] == ["p0", "p2"]
    assert [exclusion.passage.id for exclusion in excluded] == ["p1"]
    assert excluded[0].reason.startswith("a near copy of 0.md (")
    assert kept(copy, POLICY) == ["p0"]


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_what_says_something_else_is_no_copy(other: str) -> None:
    assert kept(POLICY, other) == ["p0", "p1"]
    assert kept(other, POLICY) == ["p0", "p1"]


def test_a_copy_is_found_behind_one_that_only_looks_alike() -> None:
    stay, excluded = distinct(evidence(OTHERS["another number"], POLICY, COPIES["a stamp added"]))
    assert [passage.id for passage in stay.passages] == ["p0", "p1"]
    assert excluded[0].reason.startswith("a near copy of 1.md (")


def test_tiers_count_copies_once() -> None:
    found = evidence(POLICY, COPIES["a word changed"])
    assert Tiers().decide(found).level is Level.SUFFICIENT
    assert Tiers().decide(distinct(found)[0]).level is Level.INSUFFICIENT


def test_the_share_is_a_setting() -> None:
    shorter = POLICY.replace("On Thursdays everybody is in the office.", "")
    assert kept(POLICY, shorter) == ["p0"]
    strict = distinct(evidence(POLICY, shorter), DiversitySettings(duplicate_overlap=0.95))
    assert len(strict[0]) == 2


def test_question_notes_and_scores_stay() -> None:
    found = Evidence("q", evidence(POLICY, POLICY).items, ("a note",))
    stay, _ = distinct(found)
    assert (stay.question, stay.notes, stay.items[0]) == ("q", ("a note",), found.items[0])
    assert distinct(Evidence("q")) == (Evidence("q"), ())


words = st.lists(st.sampled_from("a b c d 1 2 not may The".split()), max_size=12).map(" ".join)


@given(st.lists(words, max_size=8), st.sampled_from([0.5, 0.7, 0.8, 1.0]))
def test_as_if_each_were_compared_with_each(texts: list[str], least: float) -> None:
    """Nothing is lost by looking only where rare runs are shared; nothing is dropped unnamed."""
    found = evidence(*texts)
    stay, excluded = distinct(found, DiversitySettings(duplicate_overlap=least))
    slow: list[tuple[str, _Wording]] = []
    for passage in found.passages:
        mine = _Wording.of(passage)
        if not any(
            _overlap(mine.shingles, other.shingles) >= least and not _differ(mine, other)
            for _, other in slow
        ):
            slow.append((passage.id, mine))
    assert [passage.id for passage in stay.passages] == [name for name, _ in slow]
    assert len(stay) + len(excluded) == len(found)


@pytest.mark.timing
def test_time_grows_with_the_number_of_passages() -> None:
    """Forms that differ in a number are the worst case: all alike, none a copy."""

    def seconds(count: int) -> float:
        forms = evidence(*(POLICY.replace("3 days", f"{n} days") for n in range(count)))
        start = time.process_time()
        assert len(distinct(forms)[0]) == count
        return time.process_time() - start

    seconds(100)
    few = min(seconds(250) for _ in range(3))
    assert min(seconds(2000) for _ in range(3)) < 8 * 4 * few
