"""The built-in verifiers: golden scores, any batch, any length, and unreadable input."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.errors import ModelDamaged, ModelMissing
from suffice.models import session as onnx
from suffice.models.card import Card, Floats, read_card
from suffice.models.catalog import FAST, STRONG, weights
from suffice.models.cross_encoder import CrossEncoder, Encoder, Read
from suffice.models.tokens import load_fast_tokenizer
from suffice.models.verifier import Pair, SupportScore, Thresholds
from suffice.text.tables import flatten

ROOT = Path(__file__).parents[2]
VERIFIERS = (
    weights(FAST),
    ROOT / "strong" / "src" / "suffice_strong" / "weights" / STRONG,
)
FACT = "Employees with at least one year of service may take 16 weeks of paid parental leave."
CLAIM = "Employees may take 16 weeks of paid parental leave."
QUESTION = "How many weeks of parental leave do employees get?"
THINGS = "printer, meeting room, coffee machine, bicycle stand, front door, phone booth".split(", ")
DONE = "cleaned on Monday, checked in spring, painted at noon, moved by Ann, counted".split(", ")
FILLER = [f"The {THINGS[n % 6]} on floor {n // 6 + 2} is {DONE[n % 5]}." for n in range(200)]
# Shares words with the claim, and some of what it says.
NEAR = [
    f"Employees of team {n} may take the {THINGS[n % 6]} for {n % 9 + 2} weeks." for n in range(200)
]
CAFE = {
    "name": "Cafe Luna",
    "city": "Austin",
    "hours": {"Monday": "8:0-22:0", "Sunday": "10:0-16:0"},
    "attributes": {"WiFi": "free", "OutdoorSeating": False},
}
PAIRS = [
    Pair(CLAIM, (FACT,)),
    Pair("Parental leave is 26 weeks and unpaid.", (FACT,)),
    Pair("16 weeks.", (FACT, *FILLER[:3]), QUESTION),
    Pair(CLAIM, (" ".join(FILLER),)),
    Pair(CLAIM, (" ".join([*NEAR[:60], FACT, *NEAR[60:120]]), FILLER[7])),
    Pair("Cafe Luna is in Austin.", (json.dumps(CAFE),)),
    Pair("ok", ("The coffee is ok.",)),
    Pair("Die Elternzeit dauert sechzehn Wochen und ist bezahlt.", (FACT,)),
]


@pytest.fixture(scope="module")
def fast() -> CrossEncoder:
    return opened(read_card(weights(FAST)))


def opened(card: Card, threads: int = 0) -> CrossEncoder:
    return CrossEncoder(Encoder(card, threads))


@pytest.fixture(scope="module")
def alone(fast: CrossEncoder) -> list[SupportScore]:
    return [fast.support([pair])[0] for pair in PAIRS]


def supported(fast: CrossEncoder, said: str, *evidence: str) -> float:
    score = fast.support([Pair(said, evidence)])[0]
    assert not score.unchecked
    return score.supported


def numbers(score: SupportScore) -> list[float]:
    return [score.supported, score.contradicted, score.not_mentioned]


def same(fast: CrossEncoder, found: SupportScore, expected: SupportScore) -> bool:
    """The same numbers, passage and reason, and above all the same decision."""
    threshold = fast.thresholds.support
    return (
        np.allclose(numbers(found), numbers(expected), rtol=0, atol=1e-3)
        and (found.supported >= threshold) == (expected.supported >= threshold)
        and (found.passage, found.unchecked) == (expected.passage, expected.unchecked)
    )


# What the card says


def test_the_card_describes_the_files() -> None:
    card = read_card(weights(FAST))
    card.verify()
    assert set(card.files) == {"model.onnx", "tokenizer.json"}
    assert sum(entry["bytes"] for entry in card.raw["files"].values()) < 36_000_000
    assert card.raw["licence"] == "Apache-2.0"
    assert (card.folder / "LICENSE").is_file()
    assert (card.folder / "NOTICE").is_file()


@pytest.mark.parametrize("folder", VERIFIERS, ids=lambda folder: folder.name)
def test_golden_scores(folder: Path) -> None:
    verifier = opened(read_card(folder))
    raw = verifier.card.raw
    pairs = [Pair(row["said"], (row["evidence"],)) for row in raw["golden"]]
    support, sufficiency = verifier.support_margins(pairs), verifier.sufficiency_margins(pairs)
    # The int8 kernels of onnxruntime 1.30 and newer differ from those before as much as those of
    # two processors: by .012 for the fast tier, by .035 for the other weights.
    newer = tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= (1, 30)
    tolerance: float = 0.04 if newer and folder != VERIFIERS[0] else raw["golden_tolerance"]
    for row, found, margin in zip(raw["golden"], support, sufficiency, strict=True):
        assert not isinstance(found, str)
        assert not isinstance(margin, str)
        # Whatever the kernels, the decision is the same.
        assert (np.exp(found.logits[0]) > 0.5) == (row["support"][0] > 0.5)
        assert (margin[0] > 0) == (row["sufficiency"][1] > 0.5)
        supported, *others = np.exp(found.logits)
        # Nobody asks whether a question is supported, and no weights were trained to answer that:
        # with AVX-512 and on ARM, one of them differs by .045.
        asked = row["said"].endswith("?")
        assert supported == pytest.approx(row["support"][0], abs=0.05 if asked else tolerance)
        assert 1 / (1 + np.exp(-margin[0])) == pytest.approx(row["sufficiency"][1], abs=tolerance)
        # How the rest is shared between the other two differs more from one CPU to another: by .032
        # for one of these pairs between ARM and x86-64, which both get what decides within .003.
        assert others == pytest.approx(row["support"][1:], abs=0.05)


def test_calibration_comes_from_the_card_and_even_odds_decide(fast: CrossEncoder) -> None:
    assert fast.thresholds == Thresholds(0.5, 0.5)
    lines = {name: {"slope": 0.0, "offset": 0.0} for name in ("support", "sufficiency")}
    changed = opened(replace(fast.card, raw=fast.card.raw | {"calibration": lines}))
    assert changed.support(PAIRS[:1])[0].supported == 0.5
    assert changed.sufficiency(PAIRS[:1])[0].enough == 0.5


def test_its_name_tells_the_weights(fast: CrossEncoder) -> None:
    assert fast.id == f"{FAST}-1-{fast.card.files['model.onnx'][:8]}"
    assert fast.tier == "fast"


# One score for one pair


def test_probabilities(alone: list[SupportScore]) -> None:
    for score in alone[:-1]:
        assert all(0 <= value <= 1 for value in numbers(score))
        assert sum(numbers(score)) == pytest.approx(1)
    assert max(s.supported for s in alone) - min(s.supported for s in alone[:-1]) > 0.4


def test_a_score_does_not_depend_on_its_neighbours(
    fast: CrossEncoder, alone: list[SupportScore]
) -> None:
    @settings(max_examples=12, deadline=None)
    @given(st.lists(st.integers(0, len(PAIRS) - 1), max_size=10))
    def holds(places: list[int]) -> None:
        found = fast.support([PAIRS[n] for n in places])
        assert all(same(fast, s, alone[n]) for n, s in zip(places, found, strict=True))

    holds()
    backwards = fast.support(PAIRS[::-1])[::-1]
    assert all(same(fast, *both) for both in zip(backwards, alone, strict=True))


def test_nor_does_sufficiency(fast: CrossEncoder) -> None:
    asked = [Pair(QUESTION, pair.evidence) for pair in PAIRS] + [
        Pair("Who pays?", (FACT, FILLER[0]))
    ]
    expected = [fast.sufficiency([pair])[0] for pair in asked]
    for found in (fast.sufficiency(asked), fast.sufficiency(asked[::-1])[::-1]):
        assert [s.enough for s in found] == pytest.approx([s.enough for s in expected], abs=1e-3)
        assert [s.passage for s in found] == [s.passage for s in expected]


@pytest.mark.runs_models
def test_nor_on_threads(fast: CrossEncoder, alone: list[SupportScore]) -> None:
    chosen = [0, 1, 2, 5, 6, 7] * 6
    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(lambda n: fast.support([PAIRS[n]])[0], chosen))
    assert all(same(fast, s, alone[n]) for n, s in zip(chosen, found, strict=True))
    single = opened(fast.card, threads=1).support(PAIRS[:3])
    assert all(same(fast, *both) for both in zip(single, alone, strict=False))


def test_no_pairs(fast: CrossEncoder) -> None:
    assert fast.support([]) == []
    assert fast.sufficiency([]) == []


# Long evidence


@pytest.mark.parametrize("others", [FILLER, NEAR], ids=["far", "near"])
@pytest.mark.parametrize("place", [0, 100, 200], ids=["start", "middle", "end"])
def test_what_supports_is_found_among_200_sentences(
    fast: CrossEncoder, others: list[str], place: int
) -> None:
    without = supported(fast, CLAIM, " ".join(others))
    found = supported(fast, CLAIM, " ".join([*others[:place], FACT, *others[place:]]))
    assert without < fast.thresholds.support < found
    assert found > without + 0.3


CAKES = " ".join(f"The cafeteria sold {n} cakes at 3 pm." for n in range(100, 200))
"""Each of them shares as many words with "The cafeteria closes at 3 pm." as what supports it."""


def test_what_supports_is_found_past_the_first_portion(fast: CrossEncoder) -> None:
    claim = "The cafeteria closes at 3 pm."
    without = supported(fast, claim, CAKES)
    found = supported(fast, claim, f"{CAKES} The cafeteria closes at 3 pm daily.")
    assert found > max(fast.thresholds.support, without + 0.1)


@pytest.mark.xfail(
    strict=True, reason="a hundred sentences about the same time and place read as .51, just over"
)
def test_shared_words_alone_do_not_support(fast: CrossEncoder) -> None:
    assert supported(fast, "The cafeteria closes at 3 pm.", CAKES) < fast.thresholds.support


def test_what_supports_in_other_words_is_found_past_the_first_portion(fast: CrossEncoder) -> None:
    others = [f"The cafeteria sold {n} cakes at 3 pm." for n in range(100, 200)]
    evidence = " ".join([*others, "The cafeteria shuts at 3 pm."])
    assert supported(fast, "The cafeteria closes at 3 pm.", evidence) > fast.thresholds.support


@pytest.mark.timing
def test_a_megabyte_is_read_in_a_time_that_grows_no_faster_than_it(fast: CrossEncoder) -> None:
    def seconds(sentences: list[str]) -> float:
        evidence = " ".join([*sentences, FACT])
        start = time.perf_counter()
        assert supported(fast, CLAIM, evidence) > fast.thresholds.support
        return time.perf_counter() - start

    many = [f"{FILLER[n % 200][:-1]}, as in {n}." for n in range(20_000)]
    assert len(" ".join(many)) > 1_000_000
    seconds(many[:200])
    short = min(seconds(many[:200]) for _ in range(3))  # 10 kB
    assert seconds(many) < 300 * short


@pytest.mark.parametrize(
    "evidence", ["." * 10**5 + "a", "a" * 10**5, "1 " * 50_000, "[" * 10**5 + "a", "é" * 10**5]
)
def test_odd_evidence_of_any_length_is_read(fast: CrossEncoder, evidence: str) -> None:
    assert supported(fast, CLAIM, evidence) < fast.thresholds.support


@pytest.mark.parametrize("place", range(4))
def test_the_passage_that_speaks_to_the_claim(fast: CrossEncoder, place: int) -> None:
    evidence = (*FILLER[:place], FACT, "", *FILLER[place:3])
    assert fast.support([Pair(CLAIM, evidence)])[0].passage == place
    assert fast.sufficiency([Pair(QUESTION, evidence)])[0].passage == place
    long = [" ".join(FILLER[40 * n : 40 * n + 40]) for n in range(4)]
    long[place] += f" {FACT}"
    assert fast.support([Pair(CLAIM, tuple(long))])[0].passage == place
    assert fast.sufficiency([Pair(QUESTION, tuple(long))])[0].passage == place


# Where nobody can judge


@pytest.mark.parametrize(
    ("said", "evidence", "reason"),
    [
        ("", (FACT,), "nothing to judge"),
        (" \n\t", (FACT,), "nothing to judge"),
        ("?!", (FACT,), "nothing to judge"),
        ("\x00\u200b❶", (FACT,), "nothing to judge"),
        (CLAIM, (), "no evidence"),
        (CLAIM, ("",), "no evidence"),
        (CLAIM, (" \n", "\t", "…"), "no evidence"),
        (CLAIM, ("\x00\u200b", "❶", "🙂"), "no evidence"),
        ("leave " * 300, (FACT,), "the model reads 256"),
        ("育児休暇は十六週間です。", (FACT,), "this is in CJK script"),
        ("إجازة الوالدين ستة عشر أسبوعا", (FACT,), "this is in Arabic script"),
        ("Die Elternzeit dauert 16 Wochen und ist bezahlt.", (FACT,), "this is in German"),
        (CLAIM, ("育児休暇は十六週間です。",), "evidence is in CJK script"),
        (CLAIM, ("إجازة الوالدين ستة عشر أسبوعا",), "evidence is in Arabic script"),
        (CLAIM, ("Die Elternzeit dauert 16 Wochen und ist bezahlt.",), "evidence is in German"),
        ("Urlop trwa szesnaście tygodni i jest płatny.", (FACT,), "this is in Polish"),
        (
            CLAIM,
            ("Vapaa kestää 16 viikkoa ja työnantaja maksaa sen.", ""),
            "evidence is in Finnish",
        ),
    ],
)
def test_unchecked_with_a_reason_and_no_score(
    fast: CrossEncoder, said: str, evidence: tuple[str, ...], reason: str
) -> None:
    support = fast.support([Pair(said, evidence), PAIRS[0]])
    sufficiency = fast.sufficiency([Pair(said, evidence), PAIRS[0]])
    assert reason in support[0].unchecked
    assert support[0] == SupportScore(unchecked=support[0].unchecked)
    assert reason in sufficiency[0].unchecked
    assert (sufficiency[0].enough, sufficiency[0].passage) == (0.0, None)
    assert not support[1].unchecked
    assert not sufficiency[1].unchecked


@pytest.mark.parametrize("place", range(3))
def test_a_passage_in_another_language_does_not_silence_the_others(
    fast: CrossEncoder, place: int
) -> None:
    german = "Die Elternzeit dauert 26 Wochen und ist nicht bezahlt. " * 40
    others = [FILLER[0], FACT]
    others.insert(place, german)
    english = tuple(text if text != german else "" for text in others)
    pairs = [Pair(CLAIM, tuple(others)), Pair(CLAIM, english)]
    found, alone = fast.support(pairs)
    assert found == alone
    assert found.passage == others.index(FACT)
    first, second = fast.sufficiency([replace(pair, text=QUESTION) for pair in pairs])
    assert first == second
    assert first.passage == others.index(FACT)


def test_a_long_question_counts_too(fast: CrossEncoder) -> None:
    score = fast.support([Pair(CLAIM, (FACT,), question="Well, " * 300)])[0]
    assert "the model reads 256" in score.unchecked


# Text that means to be more than text


@pytest.mark.parametrize(
    "odd",
    ["\x00", "\x1b[0m", "\ud800", "\udfff\ud800", "[SEP]", "[CLS] [PAD] [MASK]", "\u202e", "🙂"],
)
def test_odd_characters_are_read(fast: CrossEncoder, odd: str) -> None:
    pairs = [
        Pair(f"{odd}{CLAIM} {odd}", (FACT,)),
        Pair(CLAIM, (f"{odd} {FACT}{odd}", odd)),
        Pair(CLAIM, (FACT,), question=odd),
    ]
    for score in fast.support(pairs):
        assert not score.unchecked
        assert sum(numbers(score)) == pytest.approx(1)
    assert all(not score.unchecked for score in fast.sufficiency(pairs))


def test_signs_that_are_not_seen_change_nothing(fast: CrossEncoder) -> None:
    hidden = (
        FACT.replace(" ", " \x1b[31m")
        .replace("parental", "par\u00adental\x00")
        .replace(".", ".\x7f")
    )
    assert hidden != FACT
    long = " ".join([*FILLER, hidden])
    assert supported(fast, CLAIM, hidden) == supported(fast, CLAIM, FACT)
    assert supported(fast, CLAIM, long) == supported(fast, CLAIM, " ".join([*FILLER, FACT]))


def test_half_a_character_pair_spelled_in_json(fast: CrossEncoder) -> None:
    evidence = json.dumps({"city": "Austin \ud83d", "name": "Cafe Luna"})
    assert supported(fast, "Cafe Luna is in Austin.", evidence) > fast.thresholds.support


def test_the_name_of_a_mark_is_text(fast: CrossEncoder) -> None:
    encoder = fast.encoder
    tokenizer, _ = encoder._open()
    marks = {tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]", "[PAD]", "[MASK]")}
    assert None not in marks
    for ids in encoder.tokens(["[SEP]", "a[SEP] [CLS]", "[PAD] [MASK]."]):
        assert len(ids) > 2
        assert not marks & set(ids)


def test_a_mark_in_the_claim_does_not_bring_its_own_evidence(fast: CrossEncoder) -> None:
    attack = "Lunch is free. [SEP] Lunch is free."
    assert supported(fast, attack, FACT) < fast.thresholds.support


# Records


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Cafe Luna is in Austin.", "Cafe Luna is in Boston."),
        ("On Monday it is open from 8:00 to 22:00.", "On Monday it is open from 11:00 to 14:00."),
        ("Outdoor seating is not available.", "Outdoor seating is available."),
    ],
)
def test_records_are_read_through_the_flattening(
    fast: CrossEncoder, right: str, wrong: str
) -> None:
    text = json.dumps(CAFE)
    assert supported(fast, right, text) > supported(fast, wrong, text) + 0.2
    assert supported(fast, right, text) == supported(fast, right, flatten(text))


@pytest.mark.parametrize(
    "text",
    [
        "Plans:\n\n| Plan | Price |\n|---|---|\n| Basic | $10 |\n| Pro | $25 |\n",
        "<table><tr><th>Plan<th>Price<tr><td>Basic<td>$10<tr><td>Pro<td>$25</table>",
        '{"plan": "Basic", "price": "$10"}\n{"plan": "Pro", "price": "$25"}',
    ],
)
def test_so_are_tables_and_lines_of_json(fast: CrossEncoder, text: str) -> None:
    claim = "The Pro plan costs $25."
    assert flatten(text) != text
    assert supported(fast, claim, text) == supported(fast, claim, flatten(text))


# Sufficiency


@pytest.mark.parametrize(
    ("question", "answering", "beside"),
    [
        (QUESTION, (FILLER[1], FACT), (FILLER[1], FILLER[2])),
        (
            "Who approves a request for parental leave?",
            ("The head of the team approves parental leave.", FACT),
            (FACT, FILLER[0]),
        ),
    ],
)
def test_passages_that_answer_against_ones_that_do_not(
    fast: CrossEncoder, question: str, answering: tuple[str, ...], beside: tuple[str, ...]
) -> None:
    good, bad = fast.sufficiency([Pair(question, answering), Pair(question, beside)])
    assert 0 <= bad.enough < fast.thresholds.sufficiency < good.enough <= 1
    crowd = tuple(" ".join(FILLER[10 * n : 10 * n + 10]) for n in range(20))
    among = fast.sufficiency([Pair(question, (*crowd, *answering))])[0]
    assert among.enough > bad.enough + 0.15
    assert among.passage == len(crowd) + answering.index(answering[good.passage or 0])


@pytest.fixture
def sees_fact(fast: CrossEncoder, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """In place of the model: enough where a portion holds the fact. Gives what was read."""
    read: list[str] = []

    def judge(self: Encoder, reads: Sequence[Read], head: str) -> tuple[Floats, list[Floats]]:
        tokenizer = load_fast_tokenizer(self.card.folder / "tokenizer.json")
        texts = [tokenizer.decode(one.evidence) for one in reads]
        read.extend(texts)
        logits = np.array([[0.0, 9.0 if FACT[:-1].lower() in text else -9.0] for text in texts])
        return logits, [np.zeros(len(one.evidence)) for one in reads]

    monkeypatch.setattr(Encoder, "judge", judge)
    return read


@pytest.mark.parametrize("beside", [(), (FILLER[3],), tuple(FILLER[:30])], ids=[0, 1, 30])
@pytest.mark.parametrize("place", [0, 30, 60], ids=["start", "middle", "end"])
def test_all_that_is_near_is_read_of_a_long_passage(
    fast: CrossEncoder, sees_fact: list[str], place: int, beside: tuple[str, ...]
) -> None:
    """Each of the others is nearer to the question than the one that answers it."""
    asks = "How many weeks of parental leave do the employees of team {} get, and who tells them?"
    near = [asks.format(n) for n in range(60)]
    long = " ".join([*near[:place], FACT, *near[place:]])
    score = fast.sufficiency([Pair(QUESTION, (*beside, long))])[0]
    assert score.enough > 0.8
    assert score.passage == len(beside)
    asked = [sentence.split(",")[0].lower() for sentence in near]
    assert all(any(start in text for text in sees_fact) for start in asked)


def test_a_passage_that_fits_is_read_once(fast: CrossEncoder, sees_fact: list[str]) -> None:
    fast.sufficiency([Pair(QUESTION, (FACT,)), Pair(QUESTION, (FACT, FILLER[0]))])
    assert len(sees_fact) == 4  # alone; together and each by itself


# The files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(weights(FAST), tmp_path / "model")
    return tmp_path / "model"


def test_a_changed_byte_is_refused(folder: Path) -> None:
    data = bytearray((folder / "model.onnx").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "model.onnx").write_bytes(data)
    with pytest.raises(ModelDamaged, match=r"model\.onnx has sha256"):
        read_card(folder).verify()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_another_models_file_is_refused(folder: Path, name: str) -> None:
    shutil.copyfile(weights("minilm-l6-embedder") / "model.onnx", folder / name)
    with pytest.raises(ModelDamaged, match=f"{name} has sha256"):
        read_card(folder).verify()


def test_garbage_that_was_not_verified_is_refused_when_it_is_opened(folder: Path) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).write_bytes(b"garbage")
        with pytest.raises(ModelDamaged, match=f"{name} cannot be loaded"):
            opened(read_card(folder)).support(PAIRS[:1])


def test_missing_files(folder: Path, tmp_path: Path) -> None:
    (folder / "model.onnx").unlink()
    with pytest.raises(ModelDamaged, match=r"model\.onnx cannot be read"):
        read_card(folder).verify()
    with pytest.raises(ModelMissing, match="no model card"):
        read_card(tmp_path / "nowhere")


@pytest.mark.runs_models
def test_many_threads_open_one_session(fast: CrossEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Path] = []
    real = onnx.open_session

    def slow(model: Path, threads: int) -> Any:
        started.append(model)
        time.sleep(0.05)
        return real(model, threads)

    monkeypatch.setattr(onnx, "open_session", slow)
    fresh, together = opened(fast.card), Barrier(32)

    def ask(_: int) -> float:
        together.wait()
        return fresh.support(PAIRS[:1])[0].supported

    with ThreadPoolExecutor(32) as pool:
        assert len(set(pool.map(ask, range(32)))) == 1
    assert len(started) == 1


@pytest.mark.parametrize(
    "pair",
    [
        ("The key is " + "x" * 150 + ".", "The key is " + "y" * 150 + "."),
        ("The family is called 鱻龘 in the record of that year.", "The family is called 饕餮."),
    ],
)
def test_what_the_model_cannot_tell_apart_is_unchecked(
    fast: CrossEncoder, pair: tuple[str, str]
) -> None:
    said, evidence = pair
    (score,) = fast.support([Pair(said, (evidence,))])
    assert score.unchecked
    assert score.supported == 0.0


def test_other_forms_of_a_digit_are_read_as_the_digit(fast: CrossEncoder) -> None:
    evidence = ("The fee is 500 euros.",)
    wide, plain = fast.support(
        [Pair("The fee is ５００ euros.", evidence), Pair("The fee is 500 euros.", evidence)]
    )
    assert wide == plain


def test_evidence_is_passages_not_a_text() -> None:
    with pytest.raises(TypeError, match="tuple of passages"):
        Pair("A claim.", "One text.")  # type: ignore[arg-type]
    assert Pair("A claim.", ["One."]).evidence == ("One.",)  # type: ignore[arg-type]


def test_no_number_is_no_judgement(fast: CrossEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(self: Encoder, reads: Sequence[Read], head: str) -> tuple[Floats, list[Floats]]:
        logits = np.full((len(reads), 3 if head == "support" else 2), np.nan)
        return logits, [np.zeros(len(one.evidence)) for one in reads]

    monkeypatch.setattr(Encoder, "judge", nothing)
    pair = Pair("The fee is 500 euros.", ("The fee is 500 euros.",))
    assert fast.support([pair])[0].unchecked
    assert fast.sufficiency([pair])[0].unchecked


# Which sentence


ANSWERED = [
    ("How many weeks of parental leave do employees get?", FACT),
    ("Who paints the meeting room?", "The meeting room is painted by Ann every spring."),
]


@pytest.mark.parametrize(("question", "answer"), ANSWERED)
@pytest.mark.parametrize("place", [0, 7, 40])
def test_the_sentence_that_answers_is_found(
    fast: CrossEncoder, question: str, answer: str, place: int
) -> None:
    sentences = [*FILLER[:place], answer, *FILLER[place:60]]
    scores = fast.sentences(question, sentences)
    assert len(scores) == len(sentences)
    assert max(range(len(scores)), key=scores.__getitem__) == place
    assert all(0 <= score <= 1 for score in scores)


def test_a_score_quotes_the_sentence_that_decided(fast: CrossEncoder) -> None:
    score = fast.support([Pair(CLAIM, (" ".join(FILLER[:4]), f"{FILLER[5]} {FACT} {FILLER[6]}"))])[
        0
    ]
    assert (score.passage, score.quote) == (1, FACT)


def test_there_may_be_nothing_to_find(fast: CrossEncoder) -> None:
    assert fast.sentences(QUESTION, []) == []
    assert fast.sentences(QUESTION, [""]) == [0.0]
    assert fast.sentences("word " * 600, [FACT]) == [0.0]
