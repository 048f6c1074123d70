"""The grounding bench with a verifier that counts words: figures, claims, limits, bad rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from suffice.errors import SourceMissing, Unreadable
from suffice.lab.eval.verifiers import AGGREGATION, bench_grounding
from suffice.models.verifier import Pair, SupportScore, Thresholds
from tests.lab.eval.overlap import OverlapVerifier, silent, write

EVIDENCE = "Parental leave lasts twenty weeks. The office in Berlin closes at six."


def row(claim: str, label: str = "entail", **fields: object) -> dict[str, object]:
    return {"set": "own", "evidence": EVIDENCE, "claim": claim, "label": label, **fields}


def measured(
    tmp_path: Path,
    rows: list[dict[str, object]],
    verifier: OverlapVerifier | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    data = write(tmp_path / "rows.jsonl.gz", rows)
    return bench_grounding(data, verifier or OverlapVerifier(), limit, silent)


ROWS = [
    row("Parental leave lasts twenty weeks.", set="ragtruth", task="qa"),
    row("Nobody mentioned penguins anywhere here.", "not_entail", set="ragtruth", task="qa"),
    row("The office in Berlin closes at six.", set="ragtruth", task="summary"),
    row("Parental leave lasts twenty weeks. Penguins swim south.", "partial", set="other"),
    row("Parental leave lasts twenty weeks. The office closes at six.", set="other"),
]


def test_figures_per_set_and_task(tmp_path: Path) -> None:
    figures = measured(tmp_path, ROWS)
    assert (figures["tier"], figures["model"]) == ("fast", "overlap-1")
    assert figures["threshold"] == 0.5
    assert figures["aggregation"] == "mean of the two worst claims"
    assert list(figures["sets"]) == ["ragtruth", "other"]
    ragtruth = figures["sets"]["ragtruth"]
    assert list(ragtruth["tasks"]) == ["qa", "summary"]
    assert [ragtruth["n"], *(t["n"] for t in ragtruth["tasks"].values())] == [3, 2, 1]
    assert ragtruth["share_positive"] == 0.6667
    for name in ("auroc", "balanced_accuracy", "accuracy", "f1"):
        assert ragtruth[name] == 1.0
    assert ragtruth["f1_flag_all"] == 0.5
    assert ragtruth["coverage_at_5_risk"] == 0.6667
    assert ragtruth["ece"] == 0.0
    assert ragtruth["ms_per_row"] >= 0
    assert "tasks" not in figures["sets"]["other"]
    assert figures["run"]["data"].keys() == {"rows.jsonl.gz"}


def test_pooled_and_means(tmp_path: Path) -> None:
    """The other set's half-supported response scores (1 + 0) / 2 and just passes."""
    figures = measured(tmp_path, ROWS)
    other, pooled = figures["sets"]["other"], figures["pooled"]
    assert (other["auroc"], other["balanced_accuracy"], other["f1"]) == (1.0, 0.5, 0.0)
    assert pooled["n"] == 5
    assert pooled["balanced_accuracy"] == 0.75
    assert pooled["ece"] == 0.1
    assert figures["means"] == {"auroc": 1.0, "balanced_accuracy": 0.75}


def test_the_verifier_s_own_threshold_holds(tmp_path: Path) -> None:
    strict = OverlapVerifier(thresholds=Thresholds(support=0.51, sufficiency=0.0))
    figures = measured(tmp_path, ROWS, strict)
    assert figures["threshold"] == 0.51
    assert figures["sets"]["other"]["f1"] == 1.0


@dataclass(frozen=True)
class TwoTiers(OverlapVerifier):
    """Leaves what speaks of penguins to another tier, which has a threshold of its own."""

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return [
            replace(score, tier="fast" if "penguins" in pair.text.lower() else self.tier)
            for pair, score in zip(pairs, super().support(pairs), strict=True)
        ]


@pytest.mark.parametrize(("fast", "passes"), [(0.0, True), (0.19, True), (0.21, False)])
def test_claims_are_held_to_the_thresholds_of_their_tiers(
    tmp_path: Path, fast: float, passes: bool
) -> None:
    """The two worst claims score 0 and 0.6, each with its own tier's threshold: fast and 0.4."""
    tiers = {"fast": Thresholds(support=fast)}
    said = "Parental leave lasts. Penguins swim south. Parental leave lasts eight years."
    verifier = TwoTiers(tier="strong", thresholds=Thresholds(support=0.4, tiers=tiers))
    figures = measured(tmp_path, [row(said)], verifier)
    assert figures["threshold"] == 0.4
    assert figures["pooled"]["accuracy"] == float(passes)


def test_what_nobody_checked_passes_no_threshold(tmp_path: Path) -> None:
    lax = OverlapVerifier(thresholds=Thresholds(support=0.0))
    assert measured(tmp_path, [row("This is Latin text.")], lax)["pooled"]["accuracy"] == 0.0


def test_the_length_alone(tmp_path: Path) -> None:
    """A short answer counts as supported: 1 where all supported ones are shorter."""
    short, long = "Leave lasts weeks.", "Penguins swim south, and far, and for a long time."
    for truth, expected in ((("entail", "contradict"), 1.0), (("neutral", "entail"), 0.0)):
        figures = measured(tmp_path, [row(short, truth[0]), row(long, truth[1])])
        assert figures["sets"]["own"]["length_auroc"] == expected


def test_claims_are_judged_one_by_one_with_their_context(tmp_path: Path) -> None:
    said = "Sure!\n\nThe leave policy covers two things:\n- It covers rent.\n- Food.\n\nOk?"
    verifier = OverlapVerifier()
    figures = measured(tmp_path, [row(said, question="What is covered?")], verifier)
    pairs = verifier.judged
    assert [pair.text for pair in pairs][-1] == "The leave policy covers two things: Food."
    assert all(pair.question == "What is covered?" for pair in pairs)
    assert all(pair.evidence == (EVIDENCE,) for pair in pairs)
    assert figures["pooled"]["checks"] == len(pairs) == 2


def test_a_response_without_claims_is_judged_whole(tmp_path: Path) -> None:
    verifier = OverlapVerifier()
    measured(tmp_path, [row("Hello there!"), row("", question=None)], verifier)
    assert verifier.judged == [
        Pair("Hello there!", (EVIDENCE,), answer="Hello there!"),
        Pair("", (EVIDENCE,)),
    ]


def test_passages_stay_apart(tmp_path: Path) -> None:
    verifier = OverlapVerifier()
    measured(tmp_path, [row("Leave lasts weeks.", evidence=["One.", "Two."])], verifier)
    assert verifier.judged[0].evidence == ("One.", "Two.")


def test_the_aggregation_looks_at_the_two_worst() -> None:
    assert AGGREGATION.score([0.4]) == 0.4
    assert AGGREGATION.score([0.9, 0.2, 1.0, 0.4]) == pytest.approx(0.3)


def test_an_unchecked_claim_scores_nothing_and_is_counted(tmp_path: Path) -> None:
    rows = [
        row("This is Latin text."),
        row("Parental leave lasts twenty weeks. All of it stands in Latin."),
        row("Parental leave lasts twenty weeks.", set="plain"),
    ]
    figures = measured(tmp_path, rows)
    assert [figures["sets"][name]["unchecked"] for name in ("own", "plain")] == [2, 0]
    assert figures["pooled"]["checks"] == 4
    # Both score 0, the second in spite of its other claim.
    assert figures["sets"]["own"]["accuracy"] == 0.0


def test_a_set_of_one_class_has_what_can_be_said(tmp_path: Path) -> None:
    figures = measured(tmp_path, [row("Parental leave lasts weeks."), row("Berlin closes.")])
    one = figures["sets"]["own"]
    assert one["share_positive"] == one["accuracy"] == one["coverage_at_5_risk"] == 1.0
    assert one["auroc"] is one["balanced_accuracy"] is one["length_auroc"] is one["f1"] is None
    assert one["f1_flag_all"] == 0.0
    assert figures["means"] == {"auroc": None, "balanced_accuracy": None}
    mixed = measured(tmp_path, [*ROWS, row("Parental leave lasts weeks.")])
    assert mixed["means"]["auroc"] == 1.0


def test_the_limit_is_a_fixed_draw_from_each_set(tmp_path: Path) -> None:
    rows = [row(f"Claim number {n}.", set=name) for n in range(100) for name in ("a", "b")]
    rows += [row("Only one.", set="c")]
    drawn = []
    for limit in (5, 5, 9):
        verifier = OverlapVerifier()
        figures = measured(tmp_path, rows, verifier, limit)
        assert [entry["n"] for entry in figures["sets"].values()] == [limit, limit, 1]
        drawn.append([pair.text for pair in verifier.judged])
    assert drawn[0] == drawn[1]
    assert set(drawn[0]) < set(drawn[2])
    assert drawn[0][:5] != [f"Claim number {n}." for n in range(5)]


def test_other_sets_do_not_change_the_draw(tmp_path: Path) -> None:
    own = [row(f"Claim number {n}.") for n in range(50)]
    strangers = [row(f"Stranger number {n}.", set="strangers") for n in range(30)]
    alone, among = OverlapVerifier(), OverlapVerifier()
    measured(tmp_path, own, alone, 5)
    measured(tmp_path, strangers + own, among, 5)
    assert [pair.text for pair in alone.judged] == [pair.text for pair in among.judged[5:]]


def test_progress_moves_and_calls_are_of_bounded_size(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    verifier = OverlapVerifier()
    data = write(tmp_path / "rows.jsonl", [row("Leave lasts weeks. It ends.")] * 150)
    bench_grounding(data, verifier, None, lambda *step: seen.append(step))
    assert seen == [("rows", done, 150) for done in (0, 64, 128, 150)]
    assert [len(call) for call in verifier.calls[1:]] == [128, 128, 44]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"label": "maybe"}, r"line 2: 'label' is 'maybe'. Write it as one of entail, neutral"),
        ({"label": True}, "'label' is bool"),
        ({"claim": None}, "'claim' is NoneType. Write it as text"),
        ({"claim": ["a"]}, "'claim' is list"),
        ({"evidence": {"a": 1}}, "'evidence' is dict. Write it as text or a list of texts"),
        ({"evidence": ["a", 1]}, "'evidence' is list"),
        ({"set": 3}, "'set' is int"),
        ({"task": 3}, "'task' is int"),
        ({"question": 3}, "'question' is int"),
    ],
)
def test_rows_that_do_not_fit(tmp_path: Path, change: dict[str, object], says: str) -> None:
    with pytest.raises(Unreadable, match=says):
        measured(tmp_path, [row("Fine."), {**row("Wrong."), **change}])


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"line 1: no field claim, label. Each row needs set"):
        measured(tmp_path, [{"set": "own", "evidence": ""}])
    with pytest.raises(Unreadable, match="no rows"):
        measured(tmp_path, [])
    with pytest.raises(SourceMissing):
        bench_grounding(tmp_path / "none.jsonl", OverlapVerifier(), None, silent)


def test_the_dev_file_can_be_read(shared_data: Path) -> None:
    data = shared_data / "grounding" / "dev.jsonl.gz"
    figures = bench_grounding(data, OverlapVerifier(), 20, silent)
    assert {entry["n"] for entry in figures["sets"].values()} == {20}
    assert figures["sets"]["ragtruth"]["tasks"].keys() == {"qa", "summary", "data2txt"}
    assert figures["sets"]["halueval_qa"]["length_auroc"] > 0.9
