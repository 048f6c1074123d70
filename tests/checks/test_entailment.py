"""Entailment and grounding, with the bundled verifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from suffice.checks.check import run_checks
from suffice.checks.citations import confirm_citations
from suffice.checks.claim_text import alone
from suffice.checks.entailment import Entailment, Grounding
from suffice.checks.registry import SUPPORTING, open_checks
from suffice.draft.reading import read_draft
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds, Verifier
from suffice.settings import ChecksSettings, EmbedderSettings, EntailmentSettings, VerifierSettings
from suffice.types import Code, Evidence, Finding, Hallucination, Passage, Retrieved, Support
from suffice.verdict.assess import assess
from suffice.verdict.rescue import trimmed
from tests.checks.drafts import draft, evidence

LEAVE = Passage("leave", "Employees get 20 weeks of parental leave. It is fully paid.", "leave.md")
CANTEEN = Passage("canteen", "The canteen opens at noon on working days.", "canteen.md")
EVIDENCE = Evidence("How long is parental leave?", (Retrieved(LEAVE, 0.8), Retrieved(CANTEEN, 0.1)))


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return open_verifier(VerifierSettings())


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return open_embedder(EmbedderSettings())


def judged(check: Entailment, text: str, evidence: Evidence = EVIDENCE) -> list[Finding]:
    draft = read_draft(text, evidence.passages)
    return list(run_checks([check], draft, evidence))


@dataclass(frozen=True)
class WordVerifier:
    """Backs what shares its last word with the evidence; contradicts what says "never"."""

    id: str = "verifier-1"
    tier: str = "fast"
    thresholds: Thresholds = field(default_factory=Thresholds)
    asked: list[Pair] = field(default_factory=list)

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        self.asked.extend(pairs)
        return [self._score(pair) for pair in pairs]

    def _score(self, pair: Pair) -> SupportScore:
        if "never" in pair.text:
            return SupportScore(0.1, 0.8, 0.1, 0, tier="fast")
        last = pair.text.rstrip(".").split()[-1]
        for place, text in enumerate(pair.evidence):
            if last in text:
                return SupportScore(0.9, 0.0, 0.1, place, tier="fast")
        return SupportScore(0.1, 0.1, 0.8, 0, tier="fast")

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        raise AssertionError("claims are not questions")


def test_the_verifier_that_ships(verifier: Verifier) -> None:
    right, wrong, elsewhere = judged(
        Entailment(verifier),
        "Parental leave lasts 20 weeks. [1] Parental leave is not paid. [1] "
        "The moon is made of cheese. [2]",
    )
    assert right.support is Support.BACKED
    assert (right.passage_id, LEAVE.text[slice(*right.span or (0, 0))]) == (
        "leave",
        "Employees get 20 weeks of parental leave.",
    )
    assert wrong.support is not Support.BACKED
    assert elsewhere.support in (Support.UNBACKED, Support.CONTRADICTED)


@pytest.mark.xfail(strict=True, reason='the fast tier reads "unpaid" as "paid" here (.77)')
def test_the_verifier_that_ships_knows_unpaid(verifier: Verifier) -> None:
    (wrong,) = judged(Entailment(verifier), "Parental leave is unpaid. [1]")
    assert wrong.support is not Support.BACKED


def test_contradiction_is_told_apart_from_absence() -> None:
    never, absent = judged(Entailment(WordVerifier()), "It is never paid. [1] Cats are cute. [1]")
    assert (never.support, never.kind) == (Support.CONTRADICTED, Hallucination.FAITHFULNESS)
    assert (absent.support, absent.kind) == (Support.UNBACKED, Hallucination.FACTUALITY)


@dataclass(frozen=True)
class EvenVerifier(WordVerifier):
    """Scores every claim alike, also each by the statement nearest to it."""

    score: SupportScore = field(default_factory=lambda: SupportScore(0.3, 0.4, 0.3, 0, tier="fast"))

    def _score(self, pair: Pair) -> SupportScore:
        return self.score

    def sentences(self, text: str, sentences: Sequence[str]) -> list[float]:
        return [0.5] * len(sentences)


LONG = "Cats are cute. Dogs bark. Cows moo."


def test_a_claim_of_a_long_answer_is_likelier_to_be_right() -> None:
    short = judged(Entailment(EvenVerifier()), "Cats are cute. Dogs bark.")
    assert {one.support for one in short} == {Support.UNBACKED}
    assert short[0].score == pytest.approx(0.3)
    long = judged(Entailment(EvenVerifier()), LONG)
    assert {one.support for one in long} == {Support.BACKED}
    assert long[0].score == pytest.approx(0.712, abs=1e-3)


@pytest.mark.parametrize(
    "text",
    ["Cats are cute. " * 5, "Cats are cute [1]. Cats are cute [2]. Cats are cute! cats are cute."],
)
def test_the_same_claim_again_makes_no_long_answer(text: str) -> None:
    scores = [one.score for one in judged(Entailment(EvenVerifier()), text)]
    assert scores == pytest.approx([0.3] * len(scores))


def test_another_tier_gains_nothing() -> None:
    strong = EvenVerifier(score=SupportScore(0.3, 0.4, 0.3, tier="strong"))
    scores = [one.score for one in judged(Entailment(strong), LONG)]
    assert scores == pytest.approx([0.3] * 3)


@pytest.mark.parametrize(
    ("score", "support"),
    [
        (SupportScore(0.05, 0.9, 0.05, tier="fast"), Support.CONTRADICTED),
        (SupportScore(0.1, 0.7, 0.2, tier="fast"), Support.UNBACKED),
        (SupportScore(0.3, 0.6, 0.1, tier="fast"), Support.BACKED),
    ],
)
def test_only_a_clear_contradiction_of_a_long_answer_stays_one(
    score: SupportScore, support: Support
) -> None:
    found = judged(Entailment(EvenVerifier(score=score)), LONG)
    assert {one.support for one in found} == {support}


def test_the_second_reading_of_a_long_answer_gains_too() -> None:
    (first, *_) = judged(
        Entailment(EvenVerifier(score=SupportScore(0.1, 0.4, 0.5, tier="fast"))), LONG
    )
    assert first.score == pytest.approx(0.390, abs=1e-3)


def test_a_trimmed_answer_keeps_what_it_was_trimmed_to() -> None:
    whole = read_draft(LONG, EVIDENCE.passages)
    check = Entailment(EvenVerifier())
    found = [
        replace(one, support=Support.UNBACKED) if "moo" in one.claim.text else one
        for one in run_checks([check], whole, EVIDENCE)
    ]
    cut = trimmed(whole, assess(whole, found))
    assert cut is not None
    assert [one.text for one in cut.claims] == ["Cats are cute.", "Dogs bark."]
    assert {one.support for one in run_checks([check], cut, EVIDENCE)} == {Support.BACKED}


def test_a_claim_is_held_to_what_it_cites() -> None:
    verifier = WordVerifier()
    finding = judged(Entailment(verifier), "It is paid. [1]")[0]
    assert finding.support is Support.BACKED
    assert [len(pair.evidence) for pair in verifier.asked] == [1]
    assert verifier.asked[0].question == EVIDENCE.question


def test_what_another_passage_says_is_a_wrong_citation_not_a_wrong_claim() -> None:
    draft = read_draft("The canteen opens at noon on working days. [1]", EVIDENCE.passages)
    checks = open_checks(
        replace(ChecksSettings(), verbatim=False, grounding=False, literals=False, omission=False),
        WordVerifier(),
        open_embedder(EmbedderSettings()),
    )
    findings = confirm_citations(draft, EVIDENCE, run_checks(checks, draft, EVIDENCE), SUPPORTING)
    codes = {finding.check: finding.code for finding in findings}
    supports = {finding.check: finding.support for finding in findings}
    assert supports["entailment"] is Support.BACKED
    assert codes["citations"] is Code.MISATTRIBUTED


def test_each_fact_is_judged_by_itself() -> None:
    said = "The leave is paid, and the canteen is open at midnight. [1]"
    finding = judged(Entailment(WordVerifier()), said)[0]
    assert len(finding.facts) == 2
    assert [fact.support for fact in finding.facts] == [Support.BACKED, Support.UNBACKED]


def test_what_others_settled_is_left_alone() -> None:
    draft = read_draft("It is paid. [1] Cats are cute. [1]", EVIDENCE.passages)
    verifier = WordVerifier()
    first, second = Entailment(verifier).only(draft.claims[:1]).judge(draft, EVIDENCE)
    assert (first.support, second.support) == (Support.BACKED, Support.UNCHECKED)
    assert len({pair.text for pair in verifier.asked}) == 1


def test_what_nobody_can_read_is_unchecked(verifier: Verifier) -> None:
    polish = "Pracownicy otrzymują dwadzieścia tygodni urlopu rodzicielskiego w każdym roku. [1]"
    finding = judged(Entailment(verifier), polish)[0]
    assert finding.support is Support.UNCHECKED
    assert finding.reason


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ("Alice sued Bob. [1]", "Bob sued Alice in the spring."),
        ("Globex acquired Acme. [1]", "Acme acquired Globex for a small sum."),
        ("Anna Klein supervises Peter Gross. [1]", "Peter Gross supervises Anna Klein."),
    ],
)
def test_the_same_names_in_another_order_are_not_backed(
    verifier: Verifier, said: str, source: str
) -> None:
    evidence = Evidence("", (Retrieved(Passage("1", source, "a.md"), None),))
    assert judged(Entailment(verifier), said, evidence)[0].support is not Support.BACKED


def test_a_threshold_of_ones_own() -> None:
    strict = Entailment(WordVerifier(), EntailmentSettings(backed=0.95))
    assert judged(strict, "It is paid. [1]")[0].support is Support.UNBACKED


def test_nearness_is_a_number_and_backs_nothing(embedder: Embedder) -> None:
    draft = read_draft(
        "Parental leave is 18 weeks. [1] The canteen opens at noon. [1]", EVIDENCE.passages
    )
    near, far = Grounding(embedder).judge(draft, EVIDENCE)
    assert (near.support, far.support) == (Support.UNCHECKED, Support.UNCHECKED)
    assert (near.score or 0) > (far.score or 0) + 0.2
    assert far.code is Code.FAR
    assert far.passage_id == "leave"  # what it cites, and no other


def test_titles_and_dates_are_evidence() -> None:
    dated = replace(LEAVE, title="Leave policy", version="3.2")
    verifier = WordVerifier()
    judged(Entailment(verifier), "It is paid. [1]", Evidence("?", (Retrieved(dated, 0.5),)))
    assert "Version 3.2." in verifier.asked[0].evidence[0]


@dataclass(frozen=True)
class Timid(WordVerifier):
    """Gives low scores to everything."""

    def _score(self, pair: Pair) -> SupportScore:
        return SupportScore(0.3, 0.1, 0.6, 0, tier="fast")


def test_no_share_of_words_lifts_what_the_verifier_does_not_back() -> None:
    there, new = judged(
        Entailment(Timid()), "Employees get parental leave. [1] Penguins get 3 stars. [1]"
    )
    assert there.support is Support.UNBACKED
    assert new.support is Support.UNBACKED


@pytest.mark.parametrize(
    ("supported", "contradicted", "support"),
    [
        (0.50, 0.45, Support.BACKED),
        (0.49, 0.0, Support.UNBACKED),
        (0.49, 0.50, Support.CONTRADICTED),
        (0.10, 0.49, Support.UNBACKED),
    ],
)
def test_even_odds_decide(supported: float, contradicted: float, support: Support) -> None:
    @dataclass(frozen=True)
    class Fixed(WordVerifier):
        def _score(self, pair: Pair) -> SupportScore:
            rest = 1 - supported - contradicted
            return SupportScore(supported, contradicted, rest, 0, tier="fast")

    assert judged(Entailment(Fixed()), "It is paid. [1]")[0].support is support


def test_yes_and_no_are_judged_with_the_sentence_that_says_what() -> None:
    given = evidence("Leave lasts 18 weeks and is paid.", question="Is leave paid?")
    read = alone(draft("Yes. Leave is paid in full [1].", given))
    assert read == ["Yes. Leave is paid in full.", "Leave is paid in full."]
    assert alone(draft("Yes.", given)) == ["Yes."]
