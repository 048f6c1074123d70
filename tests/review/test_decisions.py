"""Decisions claim by claim and on the whole; one of two reviewers wins."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from suffice.access.visibility import Reader
from suffice.errors import ReviewError, ReviewTaken
from suffice.log.stored import RecordFilter
from suffice.review.actions import (
    Assign,
    Judge,
    Judged,
    Judgement,
    Mark,
    MarkPassage,
    Remark,
    edited,
)
from suffice.review.case import Act
from suffice.review.review import Review
from suffice.types import Action, Claim, Draft, Level, Verdict
from tests.review import examples as some

ACCEPT, OVERRULE, CORRECT = Judgement
CORRECTED = "You may work remotely 3 days per week [1]."


def answer(review: Review, id: str) -> Verdict:
    verdict = review.case(id).verdict
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(
    ("claim", "judgement", "supported"),
    [
        (1, ACCEPT, False),  # contradicted, and rightly so
        (1, OVERRULE, True),
        (1, CORRECT, False),
        (2, ACCEPT, True),  # backed, and rightly so
        (2, OVERRULE, False),
    ],
)
def test_a_judgement_says_whether_the_claim_holds(
    review: Review, claim: int, judgement: Judgement, supported: bool
) -> None:
    id = review.log.write(some.HELD)
    made = review.act(id, Judge(claim, judgement, comment="Section 1."), by="Ada")
    entry = review.log.entry(made)
    assert (entry.kind, entry.caller) == ("judgement", "Ada")
    assert made.startswith(f"{id}.judge.")
    (found,) = review.case(id).judged
    assert (found.claim, found.supported, found.comment) == (claim, supported, "Section 1.")
    assert review.case(id).open  # claims are judged before the whole is
    assert review.log.verify(deep=True).whole


def test_the_draft_after_the_judgements(review: Review) -> None:
    id = review.log.write(some.HELD)
    assert edited(some.DRAFT, {}) == some.TEXT
    review.act(id, Judge(1, ACCEPT), by="Ada")
    assert edited(some.DRAFT, review.case(id).judgements) == "Managers approve the days [1]."
    review.act(id, Judge(1, CORRECT, CORRECTED), by="Ada")
    wanted = f"{CORRECTED} Managers approve the days [1]."
    assert edited(some.DRAFT, review.case(id).judgements) == wanted
    review.act(id, Judge(2, OVERRULE), by="Ada")
    assert edited(some.DRAFT, review.case(id).judgements) == CORRECTED
    review.act(id, Judge(2, ACCEPT), by="Ada")  # the last judgement counts
    assert edited(some.DRAFT, review.case(id).judgements) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("It is 3. [2]", "It is 3. [2] Ask first. [1]"),  # the reviewer names another source
        ("It is 3.", "It is 3. [1] Ask first. [1]"),
        ("", "Ask first. [1]"),
    ],
)
def test_citation_marks_after_a_claim_go_with_it(text: str, wanted: str) -> None:
    claims = (Claim("It is 4.", 0, 8, (1,)), Claim("Ask first.", 13, 23, (1,)))
    draft = Draft("It is 4. [1] Ask first. [1]", claims)
    judged = Judged("", "", "Ada", 1, CORRECT, supported=False, text=text)
    assert edited(draft, {1: judged}) == wanted


def test_a_corrected_answer_is_released_as_the_reviewers_words(review: Review) -> None:
    id = review.log.write(some.HELD)
    review.decide(id, Act.CORRECT, text=f" {CORRECTED}\n", reason="It is 3.", by="Ada")
    out = answer(review, id)
    assert (out.action, out.released) == (Action.CAVEAT, CORRECTED)
    assert "A person corrected this answer; the words are the reviewer's." in out.reason
    assert out.notes[-1] == "Corrected by Ada: It is 3."
    assert [one.n for one in out.citations] == [1]
    review.decide(id, Act.WITHDRAW, reason="On second thoughts.", by="Ada")
    assert answer(review, id).released == ""
    review.decide(id, Act.CORRECT, text="Ask HR.", reason="Simpler.", by="Ada")
    assert (answer(review, id).released, answer(review, id).citations) == ("Ask HR.", ())


def test_a_served_answer_is_corrected_too_and_one_without_a_draft(review: Review) -> None:
    served = review.log.write(some.SERVED)
    review.decide(served, Act.CORRECT, text=CORRECTED, reason="It is 3.", by="Ada")
    assert answer(review, served).released == CORRECTED
    bare = replace(some.HELD, draft=None, findings=())
    id = review.log.write(bare)
    review.decide(id, Act.CORRECT, text=CORRECTED, reason="It is there.", by="Ada")
    assert [one.passage.id for one in answer(review, id).citations] == [some.REMOTE.id]


def test_what_cannot_be_is_refused(review: Review) -> None:
    id = review.log.write(some.HELD)
    gate = review.log.write_gate(some.EVIDENCE, replace(some.GATE, level=Level.REVIEW))
    for number in (0, 3, -1):
        with pytest.raises(ReviewError, match="no claim"):
            review.act(id, Judge(number, ACCEPT), by="Ada")
    with pytest.raises(ReviewError, match="no claim 1"):
        review.act(gate, Judge(1, ACCEPT), by="Ada")
    with pytest.raises(ReviewError, match="no such passage"):
        review.act(id, MarkPassage("other", Mark.WRONG), by="Ada")
    with pytest.raises(ReviewError, match="empty"):
        review.decide(id, Act.CORRECT, text=" ", reason="x", by="Ada")
    with pytest.raises(ReviewError, match="without an answer"):
        review.decide(gate, Act.CORRECT, text="3 days", reason="x", by="Ada")
    with pytest.raises(ReviewError, match="a name"):
        review.act(id, Assign("Ada"), by=" ")
    with pytest.raises(ReviewError, match="comment is empty"):
        review.act(id, Remark(" "), by="Ada")
    with pytest.raises(ReviewError, match="10,001"):
        review.act(id, Remark("x" * 10_001), by="Ada")
    assert review.case(id).latest == 1  # the record that queued it


def test_an_answer_with_an_unsupported_claim_is_not_released_as_drafted(review: Review) -> None:
    held, served = review.log.write(some.HELD), review.log.write(some.SERVED)
    for id, act in ((held, Act.RELEASE), (served, Act.CONFIRM)):
        review.act(id, Judge(2, OVERRULE), by="Ada")
        with pytest.raises(ReviewError, match="Claim 2 is judged as not supported"):
            review.decide(id, act, reason="x", by="Ada")
    review.decide(served, Act.CORRECT, text=some.FIRST.text, reason="Without it.", by="Ada")
    review.decide(served, Act.CONFIRM, reason="Right now.", by="Ada")  # the corrected text
    review.decide(held, Act.CONFIRM, reason="Rightly held.", by="Ada")
    review.act(held, Judge(2, ACCEPT), by="Ada")
    review.decide(held, Act.RELEASE, reason="I was wrong.", by="Ada")
    assert answer(review, held).released == some.TEXT


def test_a_mark_is_shown_to_those_who_may_read_the_passage(review: Review) -> None:
    id = review.log.write(some.labelled(some.HELD, "staff"))
    public = review.log.write(some.HELD)
    review.act(id, MarkPassage(some.REMOTE.id, Mark.STALE, "Of 2024."), by="Ada")
    (found,) = review.marked_passages()
    assert (found.mark, found.document, found.version) == (Mark.STALE, "remote.md", "1")
    assert (found.by, found.record, found.comment) == ("Ada", id, "Of 2024.")
    assert review.marked_passages(Reader(frozenset({"staff"}))) == [found]
    assert review.marked_passages(Reader()) == []
    assert review.marked_passages(collection="sales") == []
    assert review.marked_passages(document="remote.md") == [found]
    review.act(public, MarkPassage(some.REMOTE.id, Mark.WRONG), by="Bob")
    assert [one.mark for one in review.marked_passages()] == [Mark.WRONG]
    review.act(public, MarkPassage(some.REMOTE.id, Mark.NONE), by="Bob")
    assert review.marked_passages() == []


def test_who_looks_at_an_old_state_is_told(review: Review) -> None:
    id = review.log.write(some.HELD)
    seen = review.case(id).latest
    review.act(id, Remark("Looking at it."), by="Ada", seen=seen)
    review.act(id, Judge(1, OVERRULE), by="Ada", seen=seen)
    review.act(id, Judge(2, ACCEPT), by="Bob", seen=seen)  # another claim
    with pytest.raises(ReviewTaken, match="Ada acted first: judge at"):
        review.act(id, Judge(1, ACCEPT), by="Bob", seen=seen)
    review.act(id, Assign("Ada"), by="Ada", seen=seen)
    with pytest.raises(ReviewTaken, match="Ada acted first: assign"):
        review.act(id, Assign("Bob"), by="Bob", seen=seen)
    review.decide(id, Act.CONFIRM, reason="x", by="Ada", seen=seen)  # nobody decided in between
    for act in Act.RELEASE, Act.CONFIRM, Act.DISMISS:
        with pytest.raises(ReviewTaken, match=r"Ada acted first: confirm at .* not recorded"):
            review.decide(id, act, reason="x", by="Bob", seen=seen)
    assert [one.by for one in review.case(id).decided] == ["Ada"]
    review.decide(id, Act.RELEASE, reason="Seen, and still.", by="Bob", seen=review.case(id).latest)
    assert answer(review, id).released


def test_of_reviewers_who_decide_at_once_one_wins(review: Review) -> None:
    id = review.log.write(some.HELD)
    seen, start = review.case(id).latest, threading.Barrier(4)
    told: list[str] = []

    def decide(name: str, act: Act) -> None:
        start.wait()
        try:
            review.decide(id, act, reason="x", by=name, seen=seen)
        except ReviewTaken:
            told.append(name)

    acts = (Act.RELEASE, Act.CONFIRM, Act.DISMISS, Act.CONFIRM)
    threads = [threading.Thread(target=decide, args=(f"r{n}", act)) for n, act in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (won,) = review.case(id).decided
    assert sorted([won.by, *told]) == ["r0", "r1", "r2", "r3"]
    kinds = [entry.kind for entry in review.log.page(RecordFilter())]
    assert kinds.count("override") + kinds.count("review") == 1
    assert review.log.verify(deep=True).whole
