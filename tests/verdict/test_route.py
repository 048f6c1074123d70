"""The routing table: every combination has a row, and contradicted drafts are never released."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.errors import SettingsError
from suffice.settings import ROUTES
from suffice.types import Action, Claim, Code, Draft, Finding, Grade, Support
from suffice.verdict.assess import Assessment, assess, overall_support
from suffice.verdict.route import first_match, read_routes

TABLE = read_routes(ROUTES)
SHARE = st.floats(0, 1)


def found(
    faithfulness: float = 1.0, facts: float = 1.0, unchecked: float = 0.0, *flags: str
) -> Assessment:
    return Assessment({}, faithfulness, facts, unchecked, 1.0, frozenset(flags))


@pytest.mark.parametrize(
    ("seen", "action"),
    [
        (found(), Action.SERVE),
        (found(0.85, 0.80), Action.SERVE),
        (found(0.85, 0.79), Action.CAVEAT),
        (found(0.84), Action.CAVEAT),
        (found(0.5), Action.CAVEAT),
        (found(0.49), Action.WITHHOLD),
        (found(0.39), Action.WITHHOLD),
        (found(1, 1, 0.3), Action.CAVEAT),
        (found(1, 1, 0, "omitted"), Action.SERVE),
        (found(1, 1, 0, "fabricated"), Action.WITHHOLD),
        (found(1, 1, 0, "not retrieved"), Action.WITHHOLD),
        (found(1, 1, 0, "contradicted"), Action.WITHHOLD),
        (found(1, 1, 0, "mismatch"), Action.WITHHOLD),
        (found(1, 1, 0, "stale"), Action.REVIEW),
        (found(1, 1, 0, "expired"), Action.REVIEW),
        (found(1, 1, 0, "misattributed"), Action.REVIEW),
        (found(1, 1, 0, "stale", "fabricated"), Action.WITHHOLD),
    ],
)
def test_the_table_that_ships(seen: Assessment, action: Action) -> None:
    assert first_match(TABLE, seen).action is action


def test_what_is_below_all_is_a_knowledge_gap() -> None:
    assert first_match(TABLE, found(0.2)).note == "knowledge gap"
    assert "systematic" in first_match(TABLE, found(1, 1, 0, "fabricated")).note


def test_a_conflict_has_its_row() -> None:
    assert first_match(TABLE, found(), conflict=True).action is Action.CONFLICT


FLAGS = st.frozensets(st.sampled_from([*(code.value for code in Code), "contradicted", "mismatch"]))


@given(SHARE, SHARE, SHARE, FLAGS, st.booleans())
def test_every_combination_has_a_row(
    faithfulness: float, facts: float, unchecked: float, flags: frozenset[str], conflict: bool
) -> None:
    seen = found(faithfulness, facts, unchecked, *flags)
    route = first_match(TABLE, seen, conflict=conflict)
    if route.action is Action.SERVE:
        assert faithfulness >= 0.85
        assert not flags & {"contradicted", "mismatch", "fabricated", "stale", "expired"}
        assert not flags & {"misattributed", "not retrieved"}


@pytest.mark.parametrize(
    "rows",
    [
        [],
        ["faithfulness >= 0.5 -> SERVE"],
        ["else -> MAYBE"],
        ["weather -> SERVE", "else -> WITHHOLD"],
        ["faithfulness is good -> SERVE", "else -> WITHHOLD"],
        ["serve everything", "else -> WITHHOLD"],
    ],
)
def test_a_table_that_cannot_be_read_says_how_to_write_one(rows: list[str]) -> None:
    with pytest.raises(SettingsError, match=r"else -> WITHHOLD"):
        read_routes(rows)


def test_a_table_of_ones_own() -> None:
    table = read_routes(["faithfulness < 1 -> REVIEW, look at it", "else -> SERVE"])
    assert first_match(table, found(0.9)).action is Action.REVIEW
    assert first_match(table, found(0.9)).note == "look at it"
    assert first_match(table, found()).action is Action.SERVE


# What the table looks at

CLAIMS = tuple(Claim(f"Claim {n}.", n * 10, n * 10 + 8) for n in range(4))
DRAFT = Draft("Claim 0.  Claim 1.  Claim 2.  Claim 3.", CLAIMS)


def says(place: int, support: Support, code: Code | None = None) -> Finding:
    return Finding(CLAIMS[place], "some", support, code=code)


def test_shares_and_grades() -> None:
    seen = assess(
        DRAFT, [says(0, Support.BACKED), says(1, Support.BACKED), says(2, Support.UNBACKED)]
    )
    assert (seen.faithfulness, seen.unchecked) == (0.5, 0.25)
    assert seen.grade is Grade.WEAK
    assert seen.claims_with(Support.UNBACKED) == (CLAIMS[2],)
    assert assess(DRAFT, []).grade is Grade.UNSUPPORTED


SUPPORTS = st.lists(st.sampled_from(list(Support)), max_size=6)


@given(SUPPORTS)
def test_one_finding_against_a_claim_is_enough(supports: list[Support]) -> None:
    standing = overall_support([says(0, support) for support in supports])
    against = {Support.CONTRADICTED, Support.UNBACKED} & set(supports)
    assert (standing in (Support.CONTRADICTED, Support.UNBACKED)) == bool(against)
    assert (standing is Support.BACKED) == (Support.BACKED in supports and not against)


def test_a_condition_left_out_is_a_flag() -> None:
    findings = [says(0, Support.BACKED), says(0, Support.UNBACKED, Code.OMITTED)]
    assert overall_support(findings) is Support.BACKED
    assert "omitted" in assess(DRAFT, findings).flags


def test_what_is_far_or_beside_the_question_is_a_flag_of_its_own() -> None:
    routes = read_routes(("far -> REVIEW", "beside the question -> WITHHOLD", "else -> SERVE"))
    for code, action in (
        (Code.FAR, Action.REVIEW),
        (Code.BESIDE, Action.WITHHOLD),
        (Code.CLEAR, Action.SERVE),
    ):
        claim = Claim("Leave is paid.", 0, 14)
        finding = Finding(claim, "grounding", Support.UNCHECKED, code=code)
        seen = assess(Draft(claim.text, (claim,)), [finding])
        assert first_match(routes, seen).action is action
