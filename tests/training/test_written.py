"""The written cases: rows in twins, spans that stay right, nothing to learn from words alone."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.measure import auroc
from training.prepare import ANNOTATIONS
from training.rows import Label, Row, Task
from training.written import (
    Case,
    Passage,
    Stock,
    Twins,
    annotated,
    changed,
    dev_cases,
    held,
    held_cases,
    replaced,
    training_cases,
    units,
    written_rows,
)

NEGATIVE = {Label.NOT_MENTIONED, Label.CONTRADICTED, Label.NOT_SUPPORTED}
KINDS = set(
    "number unit date entity negation condition exception scope role subject modality added "
    "conflated order cause comparison".split()
)

FERRY = (
    "The harbour ferry leaves from pier two every forty minutes. Children under six travel free of "
    "charge. Bicycles need a ticket of their own, which costs three euros.",
    "Season tickets are sold at the kiosk beside the lighthouse. They are valid from April until "
    "the end of October. Lost season tickets are not replaced by the office.",
)
SERVER = (
    "The backup server keeps snapshots for thirty days. An administrator starts a restore from the "
    "console. Snapshots older than that are deleted at midnight without warning.",
    "Encryption keys live in a separate vault. Rotating a key invalidates the cached sessions of "
    "every user. The vault itself is audited once a quarter by an external company.",
)
GARDEN = (
    "The allotment committee meets on the first Tuesday of each month. New members pay a deposit "
    "for the gate key. Compost bins belong to all plots and are emptied in spring.",
    "Sheds may be at most two metres high. Bonfires are banned from May through September. Water "
    "from the well may be used before nine in the morning only.",
)


def span(passages: Sequence[str], number: int, sentence: str) -> list[int]:
    start = passages[number - 1].index(sentence)
    return [number, start, start + len(sentence)]


def ferry() -> Case:
    free = "Children under six travel free of charge."
    bicycles = "Bicycles need a ticket of their own, which costs three euros."
    valid = "They are valid from April until the end of October."
    return {
        "id": "ferry-1", "source": "made", "file": "ferry.md", "title": "Harbour ferry",
        "passages": list(FERRY),
        "qa": [
            {
                "q": "Do I pay for my five-year-old?", "p": [1], "e": [span(FERRY, 1, free)],
                "a": "No, children under six travel free of charge.",
                "w": [
                    {"t": "No, children under ten travel free of charge.", "k": "number"},
                    {"t": "Yes, everybody has to buy one before boarding.", "k": "negation"},
                ],
            },
            {
                "q": "What does my bike cost, and how long is a season ticket good for?",
                "a": "A bike costs three euros; a season ticket is valid from April to October.",
                "p": [1, 2], "e": [span(FERRY, 1, bicycles), span(FERRY, 2, valid)],
                "w": [
                    {"t": "A bike costs four euros; a season ticket is valid from April to "
                     "October.", "k": "number"},
                    {"t": "A bike costs three euros; a season ticket is valid from May to "
                     "October.", "k": "date"},
                ],
            },
        ],
        "near": [
            {"q": "Can I bring my dog along?", "m": "dogs", "s": "Dogs ride along on a lead."},
            {"q": "Is there a bar on board?", "m": "a bar", "s": "Snacks are sold on the deck."},
        ],
        "c": [
            {"t": "A ferry departs from the second pier every 40 minutes.", "y": "supported",
             "e": [span(FERRY, 1, FERRY[0].split(". ")[0] + ".")]},
            {"t": "Lost season tickets get replaced.", "y": "contradicted",
             "s": "The office replaces lost season tickets.",
             "r": [span(FERRY, 2, "Lost season tickets are not replaced by the office.")]},
            {"t": "The last boat leaves at ten.", "y": "not_mentioned",
             "s": "At ten in the evening the last boat departs."},
        ],
        "long": {
            "q": "Tell me about tickets.", "i": 2, "k": "entity", "x": "lighthouse keeper",
            "a": ["Children under six need none.", "Others get season tickets at the kiosk."],
            "t": "Others get season tickets from the lighthouse keeper.",
            "e": [span(FERRY, 1, free), span(FERRY, 2, FERRY[1].split(". ")[0] + ".")],
        },
    }  # fmt: skip


def server() -> Case:
    thirty = "The backup server keeps snapshots for thirty days."
    rotating = "Rotating a key invalidates the cached sessions of every user."
    return {
        "id": "server-1", "source": "made", "file": "server.md", "title": "",
        "passages": list(SERVER),
        "qa": [
            {
                "q": "how long are snapshots kept", "a": "They are kept for thirty days.",
                "p": [1], "e": [span(SERVER, 1, thirty)],
                "w": [{"t": "They are kept for thirty weeks.", "k": "unit"},
                      {"t": "Nothing is ever deleted from the server.", "k": "negation"}],
            },
        ],
        "near": [
            {"q": "Who may rotate the keys?", "m": "who", "s": "Only security staff rotate keys."},
            {"q": "How big can a snapshot get?", "m": "size", "s": "A snapshot holds two TB."},
        ],
        "c": [
            {"t": "New keys end sessions.", "y": "supported", "e": [span(SERVER, 2, rotating)]},
            {"t": "The vault is audited yearly.", "y": "contradicted",
             "s": "The vault itself is audited once a year.",
             "r": [span(SERVER, 2, "The vault itself is audited once a quarter by an external "
                        "company.")]},
        ],
    }  # fmt: skip


def garden() -> Case:
    """As the cases of the data folder are: no `e`, no `r`, statements without `s`."""
    return {
        "id": "garden-1", "source": "made", "file": "garden.md", "title": "Allotments",
        "passages": list(GARDEN),
        "qa": [
            {"q": "When does the committee meet?", "a": "On the first Tuesday of a month.",
             "p": [1], "w": [{"t": "On the first Thursday of a month.", "k": "date"}]},
        ],
        "near": [{"q": "What is the deposit?", "m": "sum", "s": "The deposit is 20 euros."}],
        "c": [{"t": "Fires are allowed in winter.", "y": "supported"},
              {"t": "Sheds may be of any height.", "y": "contradicted"}],
    }  # fmt: skip


CASES = (ferry(), server(), garden())


def rows_of(seed: int = 1, **more: bool) -> list[Row]:
    return list(written_rows(CASES, seed, **more))


def statements(case: Case) -> Iterable[Case]:
    return (one for one in case["c"] if "s" in one or one["y"] == "supported")


def test_the_same_seed_gives_the_same_rows() -> None:
    assert rows_of(1) == rows_of(1)
    assert rows_of(1) != rows_of(2)


@pytest.mark.parametrize("seed", range(5))
def test_all_that_is_said_stands_beside_enough_and_beside_too_little(seed: int) -> None:
    labels: dict[tuple[Task, str], set[Label]] = defaultdict(set)
    for row in rows_of(seed):
        labels[row.task, row.text].add(row.label)
    said = [
        *((Task.SUFFICIENCY, qa["q"]) for case in CASES for qa in [*case["qa"], *case["near"]]),
        *((Task.SUPPORT, qa["a"]) for case in CASES for qa in case["qa"]),
        *((Task.SUPPORT, one["t"]) for case in CASES for one in statements(case)),
        (Task.SUPPORT, " ".join(CASES[0]["long"]["a"])),
    ]  # fmt: skip
    for one in said:
        assert Label.SUPPORTED in labels[one], one
        assert labels[one] & NEGATIVE, one


def test_a_wrong_statement_without_its_twin_is_left_out() -> None:
    assert not [row for row in rows_of() if row.text == "Sheds may be of any height."]


@pytest.mark.parametrize("seed", range(5))
def test_points_are_the_named_sentences(seed: int) -> None:
    named: dict[str, set[str]] = defaultdict(set)
    for case in CASES:
        marked = [(qa["q"], qa) for qa in case["qa"]] + [(qa["a"], qa) for qa in case["qa"]]
        marked += [(one["t"], one) for one in case["c"] if one["y"] == "supported"]
        marked += [(" ".join(one["a"]), one) for one in [case.get("long")] if one]
        for said, one in marked:
            named[said] |= {case["passages"][n - 1][a:z] for n, a, z in one.get("e", ())}
        named |= {one["q"]: {one["s"]} for one in case["near"]}
        named |= {one["t"]: {one["s"]} for one in case["c"] if "s" in one}
    seen = 0
    for row in rows_of(seed):
        assert row.label is Label.SUPPORTED or not row.points
        if row.points and row.text in named:
            assert {row.evidence[a:z] for a, z in row.points} == named[row.text]
            seen += 1
    assert seen > 20


def test_yes_and_no_alone_stand_with_their_question() -> None:
    bare = {(row.question, row.text): row.label for row in rows_of() if row.text in ("Yes.", "No.")}
    question = CASES[0]["qa"][0]["q"]
    assert bare[question, "Yes."] is not Label.SUPPORTED
    assert {asked for asked, _ in bare} == {question}
    labels = {row.label for row in rows_of() if row.text == "No."}
    assert Label.SUPPORTED in labels


def test_two_questions_need_the_passages_of_both() -> None:
    one = "When does the ferry leave?"
    other = "Where are season tickets sold?"
    case = CASES[0] | {
        "qa": [
            {"q": one, "a": "Every forty minutes.", "p": [1], "w": []},
            {"q": other, "a": "At the kiosk.", "p": [2], "w": []},
        ]
    }
    rows = [row for row in written_rows([case], 1) if row.origin == "written+two"]
    enough = next(row for row in rows if row.label is Label.SUPPORTED)
    half = next(row for row in rows if row.label is Label.NOT_MENTIONED)
    assert enough.text == half.text
    assert "ferry leave" in enough.text
    assert "season tickets sold" in enough.text
    assert all(text in enough.evidence for text in FERRY)
    assert sum(text in half.evidence for text in FERRY) == 1


def test_a_gap_is_one_until_the_sentence_stands_there() -> None:
    near = {"q": "Can I bring my dog along?", "m": "dogs", "s": "Dogs ride along on a lead."}
    gap = "Whether dogs may come along is left open."
    case = CASES[0] | {"near": [near | {"g": gap}]}
    rows = [row for row in written_rows([case], 1) if row.text == gap]
    assert [row.label for row in rows] == [Label.SUPPORTED, Label.CONTRADICTED]
    assert [near["s"] in row.evidence for row in rows] == [False, True]


def test_too_little_evidence_lacks_the_sentence() -> None:
    lacking = [
        row
        for row in rows_of()
        if row.text in ("how long are snapshots kept", "They are kept for thirty days.")
        and row.label is Label.NOT_MENTIONED
    ]
    assert len(lacking) == 4
    assert not [row for row in lacking if "thirty days" in row.evidence]


def test_wrong_words_are_named() -> None:
    wrong: dict[str, set[str]] = defaultdict(set)
    for row in rows_of():
        wrong[row.text] |= {row.text[a:z] for a, z in row.wrong}
        assert row.label is Label.NOT_SUPPORTED or not row.wrong
    long = CASES[0]["long"]
    assert wrong["No, children under ten travel free of charge."] == {"ten"}
    assert wrong["They are kept for thirty weeks."] == {"weeks"}
    assert wrong["Yes, everybody has to buy one before boarding."] == set()
    assert wrong[long["t"]] == {long["x"]}
    assert wrong[f"{long['a'][0]} {long['t']}"] == {long["x"]}


def test_a_row_that_lost_what_it_rests_on_is_dropped() -> None:
    noise = " ".join(f"The harbour ferry ticket desk has number {n} today." for n in range(80))
    answer = "It closes at noon."
    text = f"{noise} {answer} {noise}"
    start = text.index(answer)
    question = "When does the harbour ferry ticket desk with a number have time today?"
    qa = {"q": question, "a": "At noon.", "p": [1], "e": [[1, start, start + len(answer)]], "w": []}
    case = CASES[0] | {"passages": [text], "qa": [qa], "near": [], "c": []}
    case.pop("long")
    made = list(Twins(case, Stock([case]), random.Random(1)).rows())
    kept = [row for row in written_rows([case], 1) if row.text == question]
    assert [row.label for row in made if row.text == question].count(Label.SUPPORTED) == 3
    assert kept
    (short,) = (row for row in kept if row.label is Label.SUPPORTED)
    assert short.origin == "written+alone"
    assert short.evidence.endswith(f" today. {answer}\n")


@pytest.mark.parametrize("seed", range(5))
def test_a_question_stands_beside_single_statements(seed: int) -> None:
    """As the drafter reads them: what answers it and nothing else, and what does not answer it."""
    alone = [row for row in rows_of(seed) if row.origin == "written+alone"]
    assert Counter(row.label for row in alone) == {Label.SUPPORTED: 8, Label.NOT_MENTIONED: 8}
    free, both = (
        {row.evidence.removeprefix("Harbour ferry\n").strip() for row in alone if row.text == q}
        for q in (qa["q"] for qa in CASES[0]["qa"])
    )
    assert "Children under six travel free of charge." in free
    costs, valid = (CASES[0]["passages"][n - 1][a:z] for n, a, z in CASES[0]["qa"][1]["e"])
    assert len([text for text in both if costs in text and valid in text]) == 1


def test_a_row_of_a_table_stands_below_its_heading_and_header() -> None:
    text = "Limits\n| plan | keys |\n|---|---|\n| free | 2 |\n| team | 40 |"
    row = "| team | 40 |"
    found = list(units(Passage(text, ((text.index(row), len(text)),))))
    assert found[-1].text == f"Limits\n| plan | keys |\n|---|---|\n{row}"
    assert [found[-1].text[a:z] for a, z in found[-1].points] == [row]
    assert not any(one.points for one in found[:-1])


def test_partial_rows_have_no_label() -> None:
    made = rows_of(partial=True)
    partial = [row for row in made if row.origin == "written+partial"]
    assert partial
    assert all(row.label is Label.UNLABELLED for row in partial)
    assert not [row for row in partial if row.points or row.wrong]
    assert not [row for row in rows_of() if row.label is Label.UNLABELLED]


WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9)
SENTENCE = st.lists(WORD, min_size=3, max_size=8).map(lambda words: f"{' '.join(words)}.".title())


@st.composite
def passages(draw: st.DrawFn) -> tuple[Passage, list[str], list[str]]:
    """A passage, the sentences it points to, and the others."""
    sentences = draw(st.lists(SENTENCE, min_size=1, max_size=8, unique=True))
    chosen = draw(st.lists(st.booleans(), min_size=len(sentences), max_size=len(sentences)))
    points, at = [], 0
    for sentence, pointed in zip(sentences, chosen, strict=True):
        if pointed:
            points.append((at, at + len(sentence)))
        at += len(sentence) + 1
    both = list(zip(sentences, chosen, strict=True))
    named = [one for one, pointed in both if pointed]
    rest = [one for one, pointed in both if not pointed]
    return Passage(" ".join(sentences), tuple(points)), named, rest


@given(passages(), st.integers(0, 99), st.booleans())
def test_a_sentence_put_in_moves_the_points(
    made: tuple[Passage, list[str], list[str]], seed: int, point: bool
) -> None:
    one, named, _ = made
    added = "A sentence that was put in here."
    grown = one.with_sentence(added, random.Random(seed), point=point)
    slices = Counter(grown.text[a:z] for a, z in grown.points)
    assert slices == Counter([*named, added] if point else named)
    assert grown.text.replace(added, "").split() == one.text.split()


def test_a_sentence_put_into_a_long_point_does_not_cut_it() -> None:
    text = "The first sentence answers. The second sentence answers too."
    for seed in range(20):
        one = Passage(text, ((0, len(text)),))
        grown = one.with_sentence("A decoy.", random.Random(seed), point=False)
        kept = "".join(grown.text[a:z] for a, z in grown.points)
        assert kept.split() == text.split() or kept.replace(" ", "") == text.replace(" ", "")


@given(passages())
def test_what_is_left_without_the_points(made: tuple[Passage, list[str], list[str]]) -> None:
    one, _, rest = made
    left = one.without_points()
    if left is None:
        assert len(" ".join(rest)) <= 80
    else:
        assert left.points == ()
        assert left.text.split() == " ".join(rest).split()


def test_a_sentence_takes_the_place_of_what_was_pointed_to() -> None:
    one = Passage("One is here. Two is here. Three is here.", ((0, 12), (26, 40)))
    told = replaced(one, "Instead, this.")
    assert told.text == "Instead, this. Two is here. "
    assert [told.text[a:z] for a, z in told.points] == ["Instead, this."]
    assert replaced(replace(one, points=()), "Instead, this.").text == one.text


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("You may take 16 weeks of leave.", "You may take 26 weeks of leave.", ["26"]),
        ("You may take 16 weeks of leave.", "You must take 16 days of leave.", ["must", "days"]),
        ("You may take 16 weeks.", "You may never take 16 weeks.", ["never"]),
        ("You may not take 16 weeks.", "You may take 16 weeks.", []),
        ("You may take 16 weeks of leave.", "Nobody gets anything here.", []),
    ],
)
def test_where_a_near_copy_differs(right: str, wrong: str, words: list[str]) -> None:
    assert [wrong[a:z] for a, z in changed(right, wrong)] == words


# The annotations in this repository


@pytest.fixture(scope="module")
def written_here() -> list[Case]:
    files = sorted(ANNOTATIONS.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def well_formed(spans: Sequence[Any]) -> bool:
    return bool(spans) and all(
        len(one) == 3 and all(type(n) is int for n in one) and 1 <= one[0] <= 3
        and 0 <= one[1] < one[2]
        for one in spans
    )  # fmt: skip


def test_the_annotations_are_well_formed(written_here: list[Case]) -> None:
    assert len(written_here) == len(ids(written_here)) == 6192
    for case in written_here:
        assert case.keys() - {"long"} == {"id", "qa", "near", "c"}, case["id"]
        for qa in case["qa"]:
            assert qa.keys() == {"q", "a", "p", "e", "w"}, case["id"]
            assert well_formed(qa["e"]), case["id"]
            assert set(qa["p"]) <= {1, 2, 3}, case["id"]
            assert qa["p"], case["id"]
            assert {wrong["k"] for wrong in qa["w"]} <= KINDS, case["id"]
            assert qa["a"] not in [wrong["t"] for wrong in qa["w"]], case["id"]
        assert all(near.keys() - {"g"} == {"q", "m", "s"} for near in case["near"]), case["id"]
        for one in case["c"]:
            needed = {
                "supported": {"e"},
                "contradicted": {"r", "s"},
                "not_mentioned": {"s"},
            }[one["y"]]
            assert one.keys() == {"t", "y", *needed}, case["id"]
            assert all(well_formed(one[key]) for key in needed - {"s"}), case["id"]
        if "long" in case:
            long = case["long"]
            assert long.keys() == {"q", "a", "e", "i", "t", "x", "k"}, case["id"]
            assert well_formed(long["e"]), case["id"]
            assert long["k"] in KINDS, case["id"]
            assert 1 <= long["i"] <= len(long["a"]), case["id"]
            assert long["t"].count(long["x"]) == 1, case["id"]


def test_what_was_added_to_older_cases_is_well_formed() -> None:
    files = sorted((ANNOTATIONS / "older").glob("*.jsonl"))
    added = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    assert len(added) == len(ids(added)) == 1225
    for case in added:
        assert case.keys() == {"id", "c", "qa"}, case["id"]
        assert all(one.keys() <= {"e"} for one in case["qa"]), case["id"]
        kinds: tuple[set[str], ...] = ({"e"}, {"r", "s"}, {"s"}, set())
        assert all(one.keys() in kinds for one in case["c"]), case["id"]
        for one in [*case["qa"], *case["c"]]:
            assert all(well_formed(one[key]) for key in one.keys() - {"s"}), case["id"]


def test_what_was_added_to_an_older_case_joins_it(tmp_path: Path) -> None:
    case, bare = garden(), {"id": "bare-1", "passages": list(FERRY)}
    folder = tmp_path / "data" / "written"
    folder.mkdir(parents=True)
    for name, rows in (("train", [case]), ("unwritten", [bare])):
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    here = tmp_path / "written"
    (here / "older").mkdir(parents=True)
    doubted: list[dict[str, str]] = [{} for _ in case["c"]]
    told = {"s": "Sheds may be three metres high."}
    for statements, left in ((doubted, 0), ([told, *doubted[1:]], 1)):
        more = {"id": case["id"], "c": statements, "qa": [{"e": [[1, 0, 9]]} for _ in case["qa"]]}
        (here / "older" / "00.jsonl").write_text(json.dumps(more) + "\n", "utf-8")
        (joined,) = annotated(tmp_path / "data", here)
        assert len(joined["c"]) == left
        assert all(one["s"] == told["s"] for one in joined["c"])
        assert all(qa["e"] == [[1, 0, 9]] for qa in joined["qa"])


def test_right_and_wrong_are_of_one_length(written_here: list[Case]) -> None:
    def words(texts: Iterable[str]) -> float:
        return float(np.mean([len(text.split()) for text in texts]))

    answers = [qa for case in written_here for qa in case["qa"]]
    asked = words(qa["q"] for qa in answers)
    near = words(one["q"] for case in written_here for one in case["near"])
    assert abs(asked - near) < 2
    right = words(qa["a"] for qa in answers)
    wrong = words(one["t"] for qa in answers for one in qa["w"])
    assert abs(right - wrong) < 2


# On the real cases, where the data is there


@pytest.fixture(scope="module")
def training(shared_data: Path) -> list[Case]:
    return training_cases(shared_data, ANNOTATIONS)


def folded(cases: Iterable[Case]) -> set[str]:
    return {" ".join(text.lower().split()) for case in cases for text in case["passages"]}


def ids(cases: Iterable[Case]) -> set[str]:
    return {case["id"] for case in cases}


def test_spans_lie_inside_their_passages(training: list[Case]) -> None:
    for case in training:
        marked = [*case["qa"], *case["c"], *([case["long"]] if "long" in case else [])]
        for number, _, end in (span for one in marked for span in one.get("e", one.get("r", ()))):
            assert end <= len(case["passages"][number - 1]), case["id"]


def test_nothing_held_is_trained_on(shared_data: Path, training: list[Case]) -> None:
    kept = held_cases(shared_data, ANNOTATIONS)
    assert len(kept) > 100
    assert ids(kept).isdisjoint(ids(training))
    assert folded(kept).isdisjoint(folded(training))
    assert not [case for case in training if held(case)]


def test_no_dev_case_is_trained_on(shared_data: Path, training: list[Case]) -> None:
    dev = dev_cases(shared_data)
    assert len(dev) > 100
    assert ids(dev).isdisjoint(ids(training))


def test_no_dev_passage_is_trained_on(shared_data: Path, training: list[Case]) -> None:
    dev = folded(dev_cases(shared_data))
    shared = [case for case in training if not dev.isdisjoint(folded([case]))]
    assert ids(shared) == set()


# What can be told without the evidence

Said = Sequence[tuple[str, bool]]
CHOSEN = 600
MOST = 0.55


def words_in(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def naive_bayes(train: Said) -> Callable[[str], float]:
    """The log-odds of a text by the words it holds."""
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    texts = [0, 0]
    for text, truth in train:
        counts[truth].update(words_in(text))
        texts[truth] += 1

    def odds(word: str) -> float:
        wrong, right = ((counts[n][word] + 1) / (texts[n] + 2) for n in (0, 1))
        return float(np.log(right / wrong))

    known = {word: odds(word) for word in counts[0].keys() | counts[1].keys()}
    return lambda text: sum(known.get(word, 0.0) for word in words_in(text))


def told_by_words(halves: tuple[Said, Said]) -> float:
    """AUROC of the words alone, trained on one half of the documents and measured on the other."""
    found = []
    for train, test in (halves, halves[::-1]):
        score = naive_bayes(train)
        scores = np.array([score(text) for text, _ in test])
        found.append(auroc(np.array([truth for _, truth in test]), scores))
    return max(found)


def second_half(case: Case) -> bool:
    """By document, as `held` divides them."""
    name = case["id"] if case["source"] == "tatqa" else f"{case['source']}/{case['file']}"
    return hashlib.sha256(f"half {name}".encode()).digest()[0] % 2 == 1


@pytest.fixture(scope="module")
def some(training: list[Case]) -> list[Case]:
    return random.Random(0).sample(training, CHOSEN)


@pytest.fixture(scope="module")
def drawn(some: list[Case]) -> tuple[list[Row], list[Row]]:
    """One draw of the rows of some cases, the documents in two halves."""
    first, second = (
        list(written_rows([case for case in some if second_half(case) is half], seed=1))
        for half in (False, True)
    )
    return first, second


@pytest.mark.parametrize("task", Task)
def test_words_alone_do_not_tell_the_label(drawn: tuple[list[Row], list[Row]], task: Task) -> None:
    def said(rows: list[Row]) -> Said:
        own = [row for row in rows if row.task is task]
        return [(f"{row.question} {row.text}", row.label is Label.SUPPORTED) for row in own]

    first, second = map(said, drawn)
    assert min(len(first), len(second)) > 4000
    assert told_by_words((first, second)) <= MOST


def test_words_alone_would_tell_a_near_miss_without_its_twin(some: list[Case]) -> None:
    """The guard can fail: as they were written, the two sorts of questions are told apart."""

    def said(half: bool) -> Said:
        own = [case for case in some if second_half(case) is half]
        asked = [(qa["q"], True) for case in own for qa in case["qa"]]
        return [*asked, *((near["q"], False) for case in own for near in case["near"])]

    assert told_by_words((said(False), said(True))) > MOST + 0.05
