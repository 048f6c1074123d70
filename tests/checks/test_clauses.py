"""Claims put together from several clauses: what is said of something else is told, and nothing
that the source says is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from suffice.checks.check import run_checks
from suffice.checks.contrary import Contrary
from suffice.checks.rules import rule_checks
from suffice.settings import ChecksSettings
from suffice.types import Code, Support
from tests.checks.drafts import draft, evidence, judged

NEAR_MISSES = json.loads(Path(__file__).with_name("near_misses.json").read_text())
AGAINST = (Support.CONTRADICTED, Support.UNBACKED)

EXCHANGED = [
    # another party
    ("Keys are kept by the porter. Parcels are signed for by the clerk.",
     "Keys are kept by the clerk.", Support.UNBACKED),
    ("Forms are made out with the clerk. The porter locks the doors.",
     "Forms are made out with the porter.", Support.UNBACKED),
    ("The porter locks the doors. The clerk issues passes.",
     "The clerk locks the doors.", Support.UNBACKED),
    ("The porter locks the doors. The clerk issues passes.",
     "Passes are issued by the porter.", Support.UNBACKED),
    # another kind of the same
    ("Senior tenants pay 40 pounds. Junior tenants pay 30 pounds for the year.",
     "Senior tenants pay 30 pounds for the year.", Support.CONTRADICTED),
    ("Red bins are emptied weekly at noon; blue bins are emptied at the gate.",
     "Red bins are emptied at the gate.", Support.UNBACKED),
    ("Letters are sent by courier. Letters of credit are handed over in person only.",
     "Letters of credit are sent by courier.", Support.UNBACKED),
    # denied elsewhere
    ("A permit may be extended twice. Day permits cannot be extended.",
     "Yes, day permits can be extended twice.", Support.CONTRADICTED),
    ("Bonds cannot be sold without a fee. Shares can be sold without a fee.",
     "Bonds can be sold without a fee.", Support.CONTRADICTED),
    # how often, in which form, by how many
    ("The board meets every third Friday.", "The board meets every Friday.", Support.CONTRADICTED),
    ("The board meets every Friday.", "The board meets every other Friday.", Support.CONTRADICTED),
    ("Visitors need the written leave of the owner, Mr Hay.",
     "Visitors need the oral leave of the porter.", Support.CONTRADICTED),
    ("Skating is included; riding is excluded.", "Riding is included.", Support.CONTRADICTED),
    ("Loans need the signature of both owners.", "Loans need the signature of one owner.",
     Support.UNBACKED),
    ("Smoking is allowed in the inner yard only.", "Smoking is allowed in all yards.",
     Support.UNBACKED),
]  # fmt: skip
SAME = [
    ("Keys are kept by the porter. Parcels are signed for by the clerk.",
     "Parcels are signed for by the clerk."),
    ("Keys are kept by the porter. They may also be kept by the clerk.",
     "Keys are kept by the clerk."),
    ("Keys are kept by the porter.", "Keys are kept by the caretaker."),  # another word for him
    ("Keys are kept by the porter or, at night, by the guard.", "Keys are kept by the guard."),
    ("Senior tenants pay 40 pounds. Junior tenants pay 30 pounds.",
     "Junior tenants pay 30 pounds, and senior tenants pay 40 pounds."),
    ("Tenants pay 30 pounds. Senior tenants get a key.", "Senior tenants pay 30 pounds."),
    ("A permit cannot be extended by post. A permit can be extended online.",
     "A permit can be extended online."),
    ("Day permits cannot be extended unless the office agrees.",
     "Day permits can be extended if the office agrees."),
    ("The board meets every third Friday.", "The board meets every third Friday."),
    ("Red bins are emptied every week; blue bins every second week.",
     "Red bins are emptied every week."),
    ("The moon does not have a thick air.", "The moon is a body without a thick air."),
    ("She raised money with the nonprofit group Hope.",
     "She raised money with the non-profit group Hope."),
]  # fmt: skip


@pytest.mark.parametrize(("source", "said", "support"), EXCHANGED)
def test_what_is_said_of_something_else_is_told(source: str, said: str, support: Support) -> None:
    found = judged(Contrary(), said, source)[-1]
    assert (found.support, found.code) == (support, Code.CONTRARY), found.reason
    assert found.passage_id


@pytest.mark.parametrize(("source", "said"), SAME)
def test_what_the_source_says_meets_no_objection(source: str, said: str) -> None:
    found = judged(Contrary(), said, source)[-1]
    assert found.code is Code.CLEAR, found.reason


def _objections(kind: str) -> tuple[int, list[str]]:
    """How many statements there are, and those that a rule speaks against."""
    checks = rule_checks(ChecksSettings(), uncited=True)
    total, against = 0, []
    for page in NEAR_MISSES:
        given = evidence(page["text"])
        for said in page[kind]:
            total += 1
            found = run_checks(checks, draft(said, given), given)
            against += [said] if any(one.support in AGAINST for one in found) else []
    return total, against


def test_most_near_misses_are_told_by_rules_alone() -> None:
    total, against = _objections("false")
    assert len(against) >= 0.7 * total, sorted(against)


def test_true_statements_beside_them_meet_hardly_any_objection() -> None:
    total, against = _objections("true")
    assert len(against) <= 0.03 * total, against
