"""The revision loop: limited in rounds, time and tokens; every round is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.draft.reading import Brief, read_draft
from suffice.draft.revision import Round, Stopped, confirmed, needs_revision, revise
from suffice.errors import ModelUnreachable
from suffice.settings import DraftSettings
from suffice.types import Claim, Draft, Finding, Support

SETTINGS = DraftSettings(revisions=1, total_seconds=100, total_tokens=10_000)


@dataclass
class Desk:
    """A scripted drafter with its own clock."""

    texts: Sequence[str]
    takes: float = 1.0
    tokens: int = 10
    cut: bool = False
    now: float = 0.0
    briefs: list[Brief] = field(default_factory=list)

    def write(self, brief: Brief) -> Draft:
        self.now += self.takes
        text = self.texts[min(len(self.briefs), len(self.texts) - 1)]
        self.briefs.append(brief)
        if text == "fail":
            raise ModelUnreachable("It is down.", remedy="Wait.")
        return read_draft(text, [], tokens=self.tokens, cut=self.cut)

    def check(self, draft: Draft) -> list[Finding]:
        """Objects to any claim that contains "bad"."""
        supports = {True: Support.CONTRADICTED, False: Support.BACKED}
        return [Finding(c, "desk", supports["bad" in c.text]) for c in draft.claims]

    def clock(self) -> float:
        return self.now


def texts(rounds: Sequence[Round]) -> list[str]:
    return [entry.draft.text for entry in rounds]


def test_a_good_draft_is_not_sent_back() -> None:
    desk = Desk(["Leave is fine."])
    revised = revise(desk.write, desk.check, SETTINGS, clock=desk.clock)
    assert revised.stopped is Stopped.GOOD
    assert texts(revised.rounds) == ["Leave is fine."]


def test_a_bad_one_goes_back_with_what_was_found() -> None:
    desk = Desk(["Leave is bad.", "Leave is fine."])
    revised = revise(desk.write, desk.check, SETTINGS, clock=desk.clock)
    assert texts(revised.rounds) == ["Leave is bad.", "Leave is fine."]
    assert revised.stopped is Stopped.GOOD
    first, second = desk.briefs
    assert first.earlier is None
    assert second.earlier == revised.rounds[0].draft
    assert second.findings == revised.rounds[0].findings
    assert (first.seconds, second.seconds) == (100, 99)
    assert [(r.seconds, r.tokens) for r in revised.rounds] == [(1.0, 10), (1.0, 10)]
    assert revised.last.findings[0].support is Support.BACKED


def test_a_draft_that_broke_off_goes_back() -> None:
    desk = Desk(["Leave is", "Leave was"], cut=True)
    assert len(revise(desk.write, desk.check, SETTINGS, clock=desk.clock).rounds) == 2


@pytest.mark.parametrize(
    ("changes", "stopped", "count"),
    [
        ({"revisions": 0}, Stopped.ROUNDS, 1),
        ({"revisions": 1}, Stopped.ROUNDS, 2),
        ({"revisions": 3}, Stopped.ROUNDS, 4),
        ({"revisions": 9, "total_seconds": 2.9}, Stopped.TIME, 2),
        ({"revisions": 9, "total_seconds": 0}, Stopped.TIME, 1),
        ({"revisions": 9, "total_tokens": 30}, Stopped.TOKENS, 3),
        ({"revisions": 9, "total_tokens": 0}, Stopped.TOKENS, 1),
    ],
)
def test_it_ends(changes: dict[str, int], stopped: Stopped, count: int) -> None:
    desk = Desk([f"Leave is bad {n}." for n in range(20)])
    settings = replace(SETTINGS, **changes)  # type: ignore[arg-type]
    revised = revise(desk.write, desk.check, settings, clock=desk.clock)
    assert (revised.stopped, len(revised.rounds)) == (stopped, count)


@given(
    takes=st.floats(0.1, 50),
    tokens=st.integers(0, 5_000),
    rounds=st.integers(0, 10),
    seconds=st.floats(0, 200),
    budget=st.integers(0, 20_000),
)
def test_beyond_the_first_draft_the_budget_holds(
    takes: float, tokens: int, rounds: int, seconds: float, budget: int
) -> None:
    desk = Desk([f"Leave is bad {n}." for n in range(20)], takes, tokens)
    settings = DraftSettings(revisions=rounds, total_seconds=seconds, total_tokens=budget)
    revised = revise(desk.write, desk.check, settings, clock=desk.clock)
    assert len(revised.rounds) <= rounds + 1
    if len(revised.rounds) > 1:
        assert desk.now <= seconds + 1e-6
        assert sum(entry.tokens for entry in revised.rounds) <= budget


def test_the_same_again_and_nothing_at_all_end_it() -> None:
    for given_, stopped in (("Leave is bad.", Stopped.SAME), ("", Stopped.DECLINED)):
        desk = Desk([given_])
        settings = replace(SETTINGS, revisions=5)
        assert revise(desk.write, desk.check, settings, clock=desk.clock).stopped is stopped
        assert len(desk.briefs) <= 2


def test_a_drafter_that_fails_later_does_not_lose_the_first_draft() -> None:
    desk = Desk(["Leave is bad.", "fail"])
    revised = revise(desk.write, desk.check, SETTINGS, clock=desk.clock)
    assert texts(revised.rounds) == ["Leave is bad."]
    assert revised.stopped is Stopped.FAILED
    assert revised.problem == "It is down. Wait."
    with pytest.raises(ModelUnreachable):
        revise(Desk(["fail"]).write, desk.check, SETTINGS)


def test_confidence_may_be_asked_for_too() -> None:
    desk = Desk(["Leave is fine.", "Leave is finer."])
    revised = revise(
        desk.write, desk.check, SETTINGS, again=lambda entry: "finer" not in entry.draft.text
    )
    assert len(revised.rounds) == 2


CLAIM = Claim("Leave is 20 weeks.", 0, 18, (1,))


def found(check: str, support: Support) -> Finding:
    return Finding(CLAIM, check, support, reason=f"{check} is against it")


@pytest.mark.parametrize("rule", ["literals", "omission"])
@pytest.mark.parametrize("said", list(Support))
def test_a_rule_is_sent_back_only_if_a_judge_confirms_it(rule: str, said: Support) -> None:
    against = said in (Support.CONTRADICTED, Support.UNBACKED)
    for judge in ("entailment", "judge"):
        both = (found(rule, Support.CONTRADICTED), found(judge, said))
        assert confirmed(both) == (both if against else both[1:])
        assert needs_revision(Round(Draft(CLAIM.text, (CLAIM,)), both, 0.0, 0)) is against


def test_what_is_proved_needs_no_judge() -> None:
    both = (found("citations", Support.UNBACKED), found("entailment", Support.BACKED))
    assert confirmed(both) == both
    assert confirmed(both[1:]) == both[1:]
