"""A statement outside the claims is never ignored: it becomes a claim or counts as unread."""

from __future__ import annotations

import pytest

from suffice.checks.unread import unread
from suffice.text.claims import claims
from suffice.types import Action
from tests.checks.drafts import draft, evidence
from tests.test_answers import checked

LEAVE = "Parental leave lasts 18 weeks. All employees may work from home."
QUESTION = "How long is parental leave in 2024?"
GOOD = "Parental leave lasts 18 weeks."


def told(text: str) -> list[str]:
    given = evidence(LEAVE, question=QUESTION)
    return [one.words for one in unread(draft(text, given), given)]


@pytest.mark.parametrize(
    "line",
    [
        "# Parental leave",
        "## 1. Parental leave",
        "**Step 1:**",
        "## Step 1\n\n## Step 2",
        "| Leave |\n|---|\n| Parental leave lasts 18 weeks. |",
        "Overview:",
        "Here is a summary in 80 words:",
        "How long is parental leave in 2024?",
        "Would you like to know more?",
        "I hope this helps!",
        "The documents do not say anything about contractors in 2024.",
        "Sure!",
    ],
)
def test_a_line_that_brings_nothing_new_may_stand_beside_claims(line: str) -> None:
    assert told(f"{line}\n\n{GOOD}") == []


@pytest.mark.parametrize(
    "line",
    [
        "# Lunches with penguins",
        "Why does the canteen close early?",
        "Is it true after 99 weeks?",
        "I hope this helps with your 99 weeks!",
        "The documents do not say who gets 99 weeks.",
        "```\nleave = 99 * WEEK\n```",
        "`leave --weeks=99`",
        "Thank you for asking about the 99 weeks!",
    ],
)
def test_a_line_that_tells_something_is_unread(line: str) -> None:
    assert len(told(f"{line}\n\n{GOOD}")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "## Leave 17",
        "## 2. Parental leave",
        "## Leave 17 points",
        "```\n8 weeks\n```",
        "| Leave | Penguins for lunch |\n|---|---|\n| 18 weeks | |",
        "| Leave | Penguins for lunch |\n|---|---|\n| 18 weeks |",
    ],
)
def test_what_is_not_judged_with_its_neighbours_is_unread(line: str) -> None:
    assert told(f"{line}\n\n{GOOD}")


def test_the_number_of_an_item_is_read_or_continues_its_sequence() -> None:
    assert told(f"1. {GOOD}\n2. {GOOD}") == []
    assert told(f"18. {GOOD}") == []
    assert told(f"250. {GOOD}") == ["250"]
    assert told(f"1. {GOOD}\n250. {GOOD}") == ["250"]


def test_a_lead_in_too_long_for_its_items_is_a_claim() -> None:
    lead = " ".join(["Parental leave lasts"] * 20) + " for penguins in the canteen of the zoo:"
    kinds = [one.checkable for one in claims(f"{lead}\n\n- {GOOD}\n- {GOOD}")]
    assert kinds == [True, True, True]


@pytest.mark.parametrize(
    "line",
    [
        "## Remote work: 5 days",
        "**Remote work: 5 days**",
        "# 99 weeks of leave",
        "## No refunds",
        "Did you know leave is 99 weeks?",
        "Leave is 99 weeks, right?",
        "Isn't leave 99 weeks?",
        "Leave is 99 weeks?",
        "I don't know, but leave is 99 weeks.",
        "I'm not sure, leave is 99 weeks.",
        "I have no doubt that leave is unpaid.",
        "I cannot say, because leave is unpaid.",
        "I could not find it in the policy, which grants no leave.",
        "I'd be happy to confirm that leave is unpaid.",
        "Feel free to take unpaid leave.",
        "Ask your manager for approval.",
        "I hope this helps, since leave is unpaid.",
        "```\nLeave lasts 99 weeks.\n```",
        "`Leave lasts 99 weeks.`",
    ],
)
def test_what_states_something_is_a_claim(line: str) -> None:
    assert [one.checkable for one in claims(line)] == [True]
    assert checked(f"{line}", [LEAVE], uncited=True).action is not Action.SERVE


def test_a_lead_in_of_code_is_checked_by_itself() -> None:
    text = "Parental leave is not granted to anybody:\n\n```\nx = 1\n```"
    assert [one.checkable for one in claims(text)] == [True, False]


def test_the_head_of_a_table_and_the_line_above_a_list_are_read_with_what_follows() -> None:
    assert told("| Year | 2031 |\n|---|---|\n| Leave | 18 weeks |") == []
    assert told("The canteen serves penguins:\n\n- Parental leave lasts 18 weeks.") == []


def test_code_that_stands_in_a_passage_is_read() -> None:
    given = evidence("Run it so:\n```\nsuffice  index docs\n```")
    assert unread(draft("```\nsuffice index docs\n```\n\nRun it.", given), given) == ()
    assert unread(draft("```\nsuffice index other\n```\n\nRun it.", given), given)


def test_what_nobody_read_is_served_with_a_caveat_at_best_and_counts() -> None:
    plain = checked(f"{GOOD[:-1]} [1].", [LEAVE])
    assert (plain.action, plain.share_read) == (Action.SERVE, 1.0)
    more = checked(f"# Lunches with penguins\n\n{GOOD[:-1]} [1].", [LEAVE])
    assert more.action is Action.CAVEAT
    assert 0.4 < more.share_read < 0.6
    assert "Lunches with" in more.reason


def test_a_refusal_that_tells_something_is_no_abstention() -> None:
    assert checked("The documents do not say.", [LEAVE]).action is Action.SERVE
    told_all_the_same = "The documents do not say who gets 99 weeks."
    assert checked(told_all_the_same, [LEAVE]).action is Action.WITHHOLD
    beside = "The documents do not say.\n\n```\nleave = 99 * WEEK\n```"
    assert checked(beside, [LEAVE]).action is Action.WITHHOLD
