"""A report on the citations of an answer: each claim in one group."""

from __future__ import annotations

from dataclasses import replace

from suffice.compat.citations import CitationReport, verify_citations
from suffice.evidence.inputs import Given
from suffice.settings import ChecksSettings, Settings

SOURCES: list[Given] = [
    "Parental leave lasts 16 weeks.",
    "The canteen on the ground floor opens at noon.",
    {"text": "Visitors park in the yard behind the house.", "expires": "2020-01-01"},
]
ANSWER = (
    "Parental leave lasts 16 weeks [1]. "
    "Parental leave is paid in full [7]. "
    "The canteen on the ground floor opens at noon [1]. "
    "Visitors park in the yard behind the house [3]. "
    "Bicycles are stored in the blue shed [2]. "
    "Parental leave lasts 16 weeks."
)


def groups(report: CitationReport) -> dict[str, list[tuple[int, ...]]]:
    return {
        name: [one.cites for one in getattr(report, name)]
        for name in (
            "valid",
            "fabricated",
            "misattributed",
            "outdated",
            "unsupported",
            "uncited",
        )
    }


def test_each_claim_stands_in_one_group() -> None:
    report = verify_citations(ANSWER, SOURCES)
    assert groups(report) == {
        "valid": [(1,)],
        "fabricated": [(7,)],
        "misattributed": [(1,)],
        "outdated": [(3,)],
        "unsupported": [(2,)],
        "uncited": [()],
    }
    assert report.fabricated[0].claim == "Parental leave is paid in full [7]."
    assert report.fabricated[0].reason == "[7] does not refer to any passage"
    assert not report.ok


def test_an_answer_with_valid_citations_is_ok() -> None:
    report = verify_citations("Parental leave lasts 16 weeks [1].", SOURCES)
    assert report.ok
    assert report.verdict.served
    assert not verify_citations("Parental leave lasts 16 weeks.", SOURCES).ok


def test_what_nobody_looked_up_is_not_valid() -> None:
    off = replace(Settings(), checks=ChecksSettings(citations=False))
    report = verify_citations("Parental leave lasts 16 weeks [1].", SOURCES, settings=off)
    assert groups(report)["unsupported"] == [(1,)]
    assert not report.ok
