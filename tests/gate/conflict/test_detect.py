"""Conflicts among passages, judged by the verifier that ships."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import pytest

from suffice.gate.conflict.detect import Conflicts
from suffice.models.catalog import open_verifier
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds, Verifier
from suffice.settings import ConflictSettings, VerifierSettings
from suffice.switch import rules_off
from suffice.types import Conflict, Evidence, Passage, Retrieved

LEAVE = "How long is parental leave?"
NOTICE = "The notice period is {} to the end of a quarter. Parental leave is {}. Ask in writing."


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return open_verifier(VerifierSettings())


def evidence(question: str, *passages: str | Passage) -> Evidence:
    made = (
        Passage(str(n), one, f"{n}.md") if isinstance(one, str) else one
        for n, one in enumerate(passages)
    )
    return Evidence(question, tuple(Retrieved(passage, 0.5) for passage in made))


def found(verifier: Verifier, question: str, *passages: str | Passage) -> tuple[Conflict, ...]:
    return Conflicts(verifier).find(evidence(question, *passages))


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        (LEAVE, "Parental leave is 16 weeks.", "Parental leave is 18 weeks."),
        (
            LEAVE,
            "Employees may take 16 weeks of paid parental leave. Ask Ann for the form.",
            "Paid parental leave lasts 18 weeks. It starts on the day of birth.",
        ),
        (
            "What is the retention period for invoices?",
            "Invoices are kept for ten years.",
            "Invoices must be retained for 7 years.",
        ),
        (
            "Who leads the Oslo office?",
            "The Oslo office is led by Ingrid Dahl.",
            "The Oslo office is led by Tom Hansen since March.",
        ),
        (
            "Who approves travel expenses?",
            "Travel expenses are approved by the line manager.",
            "Travel expenses are approved by the finance team.",
        ),
        (
            "Is remote work allowed?",
            "Remote work is allowed on Fridays.",
            "Remote work is not allowed on Fridays.",
        ),
    ],
)
def test_two_documents_that_contradict_each_other(
    verifier: Verifier, question: str, one: str, other: str
) -> None:
    (conflict,) = found(verifier, question, one, other)
    assert not conflict.ambiguous
    assert conflict.score >= 0.8
    assert conflict.first_quote
    assert conflict.first_quote in one
    assert conflict.second_quote in other
    assert (conflict.first.document, conflict.second.document) == ("0.md", "1.md")


def test_quotes_are_what_differs(verifier: Verifier) -> None:
    one, other = NOTICE.format("3 months", "16 weeks"), NOTICE.format("3 months", "18 weeks")
    (conflict,) = found(verifier, LEAVE, one, other)
    assert conflict.first_quote == "Parental leave is 16 weeks."
    assert conflict.second_quote == "Parental leave is 18 weeks."


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        (
            "What is the budget of the project?",
            "The budget of the project is four million dollars.",
            "The project has a budget of $4,000,000.",
        ),
        (
            "What is the daily meal allowance?",
            "The daily meal allowance is 40 euros.",
            "Meals are refunded up to 40 EUR per day.",
        ),
        (LEAVE, "Parental leave is 16 weeks.", "Parental leave lasts sixteen weeks."),
        (LEAVE, "Parental leave is 16 weeks.", "Parental leave is 16 weeks."),
        (LEAVE, "Parental leave is 16 weeks.", "Staff rest for 112 days of parental leave."),
        (
            "How long does payment take?",
            "The payment of an invoice takes 3 working days after it was approved.",
            "The payment of an invoice takes 3 business days after it was approved.",
        ),
        (LEAVE, "Parental leave is 16 weeks.", "The notice period is 3 months."),
        (LEAVE, "Parental leave is 16 weeks.", "The canteen opens at noon."),
        (LEAVE, "", "Parental leave is 16 weeks."),
    ],
)
def test_no_conflict(verifier: Verifier, question: str, one: str, other: str) -> None:
    assert found(verifier, question, one, other) == ()


def test_a_change_that_is_not_asked_about_is_no_conflict(verifier: Verifier) -> None:
    weeks = NOTICE.format("3 months", "16 weeks"), NOTICE.format("3 months", "18 weeks")
    assert found(verifier, "What is the notice period?", *weeks) == ()
    months = NOTICE.format("three months", "16 weeks"), NOTICE.format("two months", "16 weeks")
    assert found(verifier, LEAVE, *months) == ()


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        (
            "When was John Smith born?",
            "John Smith, a goalkeeper, was born on 12 May 1950 in Leeds and played for Barnsley.",
            "John Smith, the chemist, was born on 3 July 1972 in Boston and teaches at Tufts.",
        ),
        (
            LEAVE,
            "Parental leave in Germany is 14 months.",
            "Parental leave in France is 16 weeks.",
        ),
    ],
)
def test_different_things_of_one_name_are_ambiguous(
    verifier: Verifier, question: str, one: str, other: str
) -> None:
    (conflict,) = found(verifier, question, one, other)
    assert conflict.ambiguous
    assert "different things" in conflict.reason


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        (
            "How long must passwords be at Quillmark?",
            (
                "Passwords at Quillmark must have 14 characters.",
                "Purchases of Quillmark above 250 euros need approval.",
            ),
        ),
        (
            "How many employees does Kestrel Dairy have?",
            (
                "Kestrel Dairy has 412 employees.",
                "Kestrel Dairy runs 37 trucks.",
                "In its depot Kestrel Dairy keeps 1,800 crates.",
            ),
        ),
        (
            "How much does membership at Solvane Fitness cost?",
            (
                "Membership at Solvane Fitness costs 39 euros a month.",
                "A lost locker key costs 15 euros at Solvane Fitness.",
            ),
        ),
        (
            "How many hours of training must drivers of Velmora complete?",
            (
                "Drivers of Velmora must complete 35 hours of training.",
                "The hotline of Velmora is staffed 18 hours a day.",
                "Velmora refuels its buses every 11 hours.",
            ),
        ),
        pytest.param(
            "How long is the guarantee on roofs by Dachwerk Lenz?",
            (
                "Dachwerk Lenz guarantees its roofs for 15 years. The guarantee passes on.",
                "Dachwerk Lenz rents its yard in Ulm for 20 years.",
            ),
            marks=pytest.mark.xfail(strict=True, reason="the lease is read as another guarantee"),
        ),
    ],
)
def test_different_things_said_of_one_firm_are_neither(
    verifier: Verifier, question: str, passages: tuple[str, ...]
) -> None:
    assert found(verifier, question, *passages) == ()


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        (
            "How long must passwords be at Quillmark?",
            "Passwords at Quillmark must have 14 characters.",
            "At Quillmark a password needs 10 characters.",
        ),
        (
            "How long is the warranty on pumps of Harlund?",
            "Harlund gives a warranty of 24 months on its pumps.",
            "The warranty on pumps of Harlund is 12 months.",
        ),
        (
            "How many vacation days do staff of Tamberlane receive?",
            "Staff of Tamberlane receive 27 vacation days a year.",
            "Tamberlane grants its staff 30 vacation days a year.",
        ),
        (
            "What is the deadline for complaints at Pellworth Shoes?",
            "Complaints must reach Pellworth Shoes within 30 days.",
            "The deadline for complaints at Pellworth Shoes is 14 days.",
        ),
    ],
)
def test_what_names_nothing_but_the_firm_speaks_of_one_firm(
    verifier: Verifier, question: str, one: str, other: str
) -> None:
    (conflict,) = found(verifier, question, one, other)
    assert not conflict.ambiguous


def test_the_reason_names_answers_versions_and_dates(verifier: Verifier) -> None:
    old = Passage(
        "a", "Parental leave is 16 weeks.", "leave.md", "1", "Leave",
        effective=date(2023, 1, 1), expires=date(2024, 1, 1),
    )  # fmt: skip
    new = replace(
        old, id="b", text="Parental leave is 18 weeks.", version="2",
        effective=date(2024, 1, 1), expires=None,
    )  # fmt: skip
    (conflict,) = found(verifier, LEAVE, old, new)
    assert conflict.reason == (
        "“16 weeks” in Leave (version 1, effective 2023-01-01, expires 2024-01-01) against "
        "“18 weeks” in Leave (version 2, effective 2024-01-01); "
        "these are two versions of the same document"
    )


def test_passages_of_one_document_are_not_held_against_each_other(verifier: Verifier) -> None:
    one = Passage("a", "Parental leave is 16 weeks.", "leave.md", "1")
    other = replace(one, id="b", text="Parental leave is 18 weeks.")
    assert found(verifier, LEAVE, one, other) == ()
    nameless = replace(one, document=""), replace(other, document="")
    assert len(found(verifier, LEAVE, *nameless)) == 1


def test_conflicts_come_before_what_is_ambiguous(verifier: Verifier) -> None:
    texts = (
        "Parental leave in Germany is 14 months.",
        "Parental leave in France is 16 weeks.",
        "Parental leave in France is 18 weeks.",
    )
    conflicts = found(verifier, LEAVE, *texts)
    assert [conflict.ambiguous for conflict in conflicts] == [False, True, True]
    assert (conflicts[0].first.text, conflicts[0].second.text) == texts[1:]


def test_what_is_ambiguous_comes_last_however_sure_it_is() -> None:
    @dataclass(frozen=True)
    class Surer(Counting):
        """Of months than of weeks."""

        def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
            return [
                SupportScore(
                    0.9 if p.text in p.evidence[0] else 0.1 if "month" in str(p) else 0.3, 0.3
                )
                for p in pairs
            ]

    texts = (
        "Parental leave in Germany is 14 months.",
        "Parental leave in France is 16 weeks.",
        "In France, people rest 18 weeks on parental leave.",
    )
    conflicts = found(Surer(), LEAVE, *texts)
    assert [conflict.ambiguous for conflict in conflicts] == [False, True, True]
    assert max(conflict.score for conflict in conflicts) > conflicts[0].score


def test_the_settings(verifier: Verifier) -> None:
    asked = evidence(
        LEAVE, "Parental leave is 16 weeks.", "It rains.", "Parental leave is 9 weeks."
    )

    def with_settings(**changed: object) -> int:
        settings = replace(ConflictSettings(), **changed)  # type: ignore[arg-type]
        return len(Conflicts(verifier, settings).find(asked))

    assert with_settings() == 1
    assert with_settings(enabled=False) == 0
    assert with_settings(threshold=1.0) == 0
    assert with_settings(max_passages=2) == 0


def test_what_the_verifier_cannot_read_is_told_by_literals_alone(verifier: Verifier) -> None:
    one = "Die Elternzeit der Angestellten beträgt 16 Wochen und wird bezahlt."
    question = "Wie lange ist die Elternzeit der Angestellten?"
    (conflict,) = found(verifier, question, one, one.replace("16", "18"))
    assert "comparing values only" in conflict.reason


@dataclass(frozen=True)
class Counting:
    """Backs an answer that stands in the evidence, and counts what it is asked."""

    id: str = "counting-1"
    tier: str = "fast"
    thresholds: Thresholds = field(default_factory=Thresholds)
    calls: list[int] = field(default_factory=list)
    statements: list[int] = field(default_factory=list)

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        self.calls.append(len(pairs))
        return [
            SupportScore(0.9, 0.0, 0.1)
            if pair.text in pair.evidence[0]
            else SupportScore(0.1, 0.8, 0.1)
            for pair in pairs
        ]

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        self.statements.append(len(pairs))
        return [SufficiencyScore(0.9 if "leave" in str(pair) else 0.5) for pair in pairs]


@pytest.mark.parametrize(
    "wording",
    ["Parental leave is {} weeks.", "Staff {} of the firm rest {} weeks on parental leave."],
)
def test_work_grows_with_the_passages(wording: str) -> None:
    asked: dict[int, int] = {}
    for count in (5, 10, 20, 40):
        counting = Counting()
        texts = [wording.format(n + 2, n + 3) for n in range(count)]
        settings = ConflictSettings(max_passages=count)
        assert Conflicts(counting, settings).find(evidence(LEAVE, *texts))
        # The values first, then whether the statements of what would be reported oppose each other.
        asked[count], opposed = counting.calls
        assert opposed <= 10 * count
        # All pairs of passages, both ways, would be count · (count − 1) and more.
        assert asked[count] <= 11 * count
        assert sum(counting.statements) <= count  # each statement once
    assert asked[40] <= 2.3 * asked[20]


def test_where_nothing_may_differ_nobody_is_asked() -> None:
    counting = Counting()
    same = ("Parental leave is 16 weeks.", "Parental leave lasts 16 weeks.", "The sun shines.")
    assert Conflicts(counting).find(evidence(LEAVE, *same)) == ()
    assert counting.calls == []


def test_what_does_not_answer_is_no_conflict() -> None:
    @dataclass(frozen=True)
    class Doubting(Counting):
        """Of the second statement."""

        def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
            return [SufficiencyScore(0.2 if "Firms" in str(pair) else 0.9) for pair in pairs]

    texts = ("Invoices are kept for ten years.", "Firms kept any of the invoices for 7 years.")
    question = "How long are invoices kept by the archive?"  # of which neither speaks
    assert found(Counting(), question, *texts)
    assert not found(Doubting(), question, *texts)


def test_the_verifier_has_a_say() -> None:
    @dataclass(frozen=True)
    class Agreeing(Counting):
        def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
            return [SupportScore(0.9, 0.0, 0.1) for _ in pairs]

    texts = ("Invoices are kept for ten years.", "Firms kept any of the invoices for 7 years.")
    question = "How long are invoices kept?"
    assert found(Counting(), question, *texts)
    assert not found(Agreeing(), question, *texts)


def test_each_passage_must_answer_by_itself() -> None:
    """Whatever words they share with the question."""

    @dataclass(frozen=True)
    class Half(Counting):
        def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
            return [SufficiencyScore(0.05 if "18" in str(pair) else 0.9) for pair in pairs]

    texts = ("Parental leave is 16 weeks.", "Parental leave is 18 weeks.")
    assert found(Counting(), LEAVE, *texts)
    assert not found(Half(), LEAVE, *texts)
    with rules_off(["both answer"]):
        assert found(Half(), LEAVE, *texts)


def test_under_different_headings_each_must_answer_clearly() -> None:
    """What stands under other headings is as a rule of something else."""

    @dataclass(frozen=True)
    class Unsure(Counting):
        def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
            return [SufficiencyScore(0.7) for _ in pairs]

    texts = ("Parental leave is 16 weeks.", "Parental leave is 18 weeks.")
    titles = ("Leave", "Leave of contractors")
    apart = [
        Passage(str(n), text, f"{n}.md", title=title)
        for n, (text, title) in enumerate(zip(texts, titles, strict=True))
    ]
    assert found(Unsure(), LEAVE, *texts)
    assert not found(Unsure(), LEAVE, *apart)
    assert found(Counting(), LEAVE, *apart)


def test_rows_of_tables_under_different_headings_are_about_different_things() -> None:
    question = "What is the yearly rate of housebound benefits?"
    rows = ("Housebound benefits | $16,089", "Housebound benefits | $10,792")

    def under(*headings: str) -> list[Passage]:
        return [
            Passage(str(n), row, f"{n}.md", heading=(heading,))
            for n, (row, heading) in enumerate(zip(rows, headings, strict=True))
        ]

    assert found(Counting(), question, *under("Rates", "Rates"))
    assert not found(Counting(), question, *under("Veterans", "Surviving spouses"))
