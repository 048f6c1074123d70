"""Words of withheld drafts are for reviewers, also where people or records repeat them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suffice.review.actions import Judge, Judgement, Mark, MarkPassage, Remark
from suffice.review.case import Act, Rating
from suffice.review.review import Review
from suffice.types import Action, Grade, Reason, ReasonCode, Verdict
from suffice.verdict import wording
from tests.review import examples as some
from tests.server.gateway import RunningGateway
from tests.server.ui.conftest import People
from tests.server.ui.visitors import signed_in

DRAFTED = "remotely 4 days"
"""Words of the draft that no document has."""


@pytest.fixture
def review(site: RunningGateway) -> Review:
    assert site.inner.log is not None
    return Review(site.inner.log)


def withheld() -> Verdict:
    """A gap: no claim of the draft is supported, and the reason quotes the first one."""
    reasons = (Reason(ReasonCode.NOT_BACKED, (some.FIRST,)),)
    return replace(
        some.HELD,
        action=Action.WITHHOLD,
        grade=Grade.UNSUPPORTED,
        reason=wording.render(reasons),
        reasons=reasons,
    )


def test_what_follows_a_decision_quotes_no_draft_to_viewers(
    site: RunningGateway, people: People, review: Review
) -> None:
    id = review.log.write(withheld())
    quote = f"The draft says {DRAFTED}"
    review.act(id, Judge(1, Judgement.CORRECT, "Not 4 days.", f"Comment: {quote}"), by="Bob")
    review.act(id, Remark(f"Aside: {quote}"), by="Bob")
    review.feedback(id, Rating.DOWN, f"Feedback: {quote}", "web")
    review.decide(id, Act.CONFIRM, reason=f"Decided: {quote}", by="Bob")
    path = f"/ui/log/{id}"
    with signed_in(site, people.name("reviewer")) as reviewer:
        seen = reviewer.get(path).text
        for word in ("<strong>gap</strong>", "Comment:", "Aside:", "Feedback:", "Decided:"):
            assert word in seen
    with signed_in(site, people.name("viewer")) as viewer:
        page = viewer.get(path)
        assert page.status_code == 200
        assert "<strong>gap</strong>" in page.text  # that it happened is no secret
        assert "down" in page.text
        for shown in (page.text, viewer.get(f"{path}/json").text):
            assert DRAFTED not in shown
            assert "Not 4 days" not in shown


def test_comments_on_marked_passages_are_for_reviewers(
    site: RunningGateway, people: People, review: Review
) -> None:
    passage = replace(some.REMOTE, document="remote-work.md")
    items = (replace(some.EVIDENCE.items[0], passage=passage),)
    id = review.log.write(replace(withheld(), evidence=replace(some.EVIDENCE, items=items)))
    mark = MarkPassage(passage.id, Mark.STALE, f"Leads to {DRAFTED}.")
    review.act(id, mark, by="Bob")
    path = "/ui/documents/remote-work.md"
    with signed_in(site, people.name("reviewer")) as reviewer:
        assert DRAFTED in reviewer.get(path).text
    with signed_in(site, people.name("viewer")) as viewer:
        text = viewer.get(path).text
        assert "Marked passages" in text
        assert DRAFTED not in text
