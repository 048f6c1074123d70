"""The comparison with other detectors, with tiny shapes and a verifier that counts words."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.__main__ import benchmarks
from benchmarks.graph import Shape
from benchmarks.peers import bench, quality, race
from benchmarks.peers.bench import proxy
from benchmarks.peers.published import PUBLISHED
from benchmarks.peers.quality import MEASURES, best_threshold, cosine, fitted, halves
from benchmarks.peers.race import Peer, nli_calls, peers, premise_pass, token_pass
from benchmarks.peers.rows import Answer, mixed, read_ragtruth, read_written, sample
from scripts.pages import peers as pages
from suffice.errors import SourceMissing
from tests.fakes import HashEmbedder
from tests.lab.eval.overlap import OverlapVerifier, silent, write

TINY = Shape(layers=2, hidden=32, heads=4, inner=64, span=8)


def an_answer(text: str, evidence: str = "Leave lasts 16 weeks.", **fields: Any) -> Answer:
    known = {"set": "ragtruth", "task": "qa", "question": "How long?", "supported": True}
    return Answer(text=text, evidence=(evidence,), **{**known, **fields})


def test_the_inputs_of_each_detector() -> None:
    answer = an_answer(
        "Leave lasts 16 weeks. Parents share it.", "\n\n".join(["word " * 250, "word " * 100])
    )

    def count(text: str) -> int:
        return len(text.split())

    assert [len(piece.split()) for piece in answer.pieces()] == [200, 50, 100]
    assert nli_calls(answer, count) == [207, 206, 57, 56, 107, 106]
    assert max(nli_calls(an_answer("Leave lasts 16 weeks.", "word " * 90), lambda _: 600)) == 512
    assert token_pass(answer, count) == [350 + 2 + 7 + 4]
    assert premise_pass(answer, count) == [350 + 7 + 24]
    nli = peers()[0]
    assert nli.lengths(answer, count) == {192: 2, 64: 2, 128: 2}


def test_a_sample_keeps_the_shares_and_grows_with_its_limit() -> None:
    rows = [
        an_answer(f"Answer {n}.", task="qa" if n < 300 else "summary", supported=n % 5 > 0)
        for n in range(400)
    ]
    small, large = sample(rows, 40), sample(rows, 80)
    assert small == sample(rows, 40)
    assert set(small) < set(large)
    assert len(small) == 40
    for kind in ("qa", "summary"):
        own = [one for one in small if one.task == kind]
        assert len(own) == pytest.approx(40 * (0.75 if kind == "qa" else 0.25), abs=2)
        assert sum(one.supported for one in own) == pytest.approx(0.8 * len(own), abs=2)


def test_timed_answers_come_from_all_tasks() -> None:
    groups = [
        [an_answer(str(n), task=task) for task in ("qa", "summary") for n in range(5)],
        [an_answer(str(n), set="written", task="") for n in range(5)],
    ]
    assert [(one.set, one.task) for one in mixed(groups, 4)] == [
        ("ragtruth", "qa"), ("ragtruth", "summary"), ("written", ""), ("ragtruth", "qa"),
    ]  # fmt: skip


def test_answers_from_one_evidence_are_in_one_half() -> None:
    rows = [an_answer(str(n), evidence=f"Fact {n // 2}.") for n in range(100)]
    found = halves(rows)
    assert (found[::2] == found[1::2]).all()
    assert 30 < found.sum() < 70


def test_a_threshold_is_chosen_on_the_other_half() -> None:
    """In one half high scores are supported, in the other low ones: what is learnt is all wrong."""
    half = np.arange(40) < 20
    scores = np.tile(np.arange(20.0), 2)
    truth = np.where(half, scores >= 10, scores < 10)
    own = best_threshold(scores[half], truth[half], MEASURES["balanced_accuracy"])
    assert own == 9.5
    passed = fitted(scores, truth, half).passed["balanced_accuracy"]
    assert (passed[~half] == (scores[~half] >= 9.5)).all()
    assert MEASURES["balanced_accuracy"](passed[~half], truth[~half]) == 0.0


def test_the_best_f1_may_flag_everything() -> None:
    scores, truth = np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, False, False, False])
    assert best_threshold(scores, truth, MEASURES["f1"]) == np.inf


def test_cosine_takes_the_nearest_sentence_and_the_worst_claims() -> None:
    embedder = HashEmbedder()
    evidence = "Leave lasts 16 weeks. Parents share it."
    same = an_answer("Leave lasts 16 weeks.", evidence)
    assert cosine(same, embedder) == pytest.approx(1.0, abs=1e-6)
    half = an_answer("Leave lasts 16 weeks. Dogs bark loudly at night.", evidence)
    assert cosine(half, embedder) < 0.9


class Clock:
    """Time that only work advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def work(self, *seconds: float) -> Callable[[object], None]:
        """Work that takes these times in turn, the last one ever after."""
        left = list(seconds)

        def run(_: object) -> None:
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return run


def test_ratios_are_the_median_over_rounds_of_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine is ten times slower in the second round: the ratio of that round is the same."""
    clock = Clock()
    monkeypatch.setattr(race, "time", clock)
    ours = clock.work(9, 1, 1, 10, 10, 1, 1)
    other = clock.work(4, 40, 8)
    found = race.race(
        [an_answer("A.")], {"ours": ours, "other": other}, (), len, rounds=3, progress=silent
    )
    assert [row["name"] for row in found] == ["ours", "other"]
    assert found[0]["ratio"] == 1.0
    assert (found[1]["ratio"], found[1]["low"], found[1]["high"]) == (4.0, 4.0, 8.0)
    assert found[1]["seconds"] == 8.0


def test_a_call_counts_as_often_as_the_answers_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, runs = Clock(), []

    def session(path: Path, threads: int) -> Any:
        runs.append(path.name)
        return SimpleNamespace(run=lambda _, inputs: clock.work(inputs["input_ids"].size)(None))

    monkeypatch.setattr(race, "time", clock)
    monkeypatch.setattr(race, "open_session", session)
    peer = Peer("loop", "none", lambda *_: 7, TINY, lambda answer, count: [60, 70, 130])
    row = race.race(
        [an_answer("A.")] * 2, {"ours": clock.work(64)}, [peer], len, rounds=1, progress=silent
    )[1]
    assert runs == [f"loop-{kind}-{n}.onnx" for kind in ("fp32", "int8") for n in (64, 128)]
    assert row["ratio"] == (4 * 64 + 2 * 128) / (2 * 64)
    assert (row["calls"], row["tokens"], row["parameters"]) == (3, 85, 7)


def test_litellm_is_read_from_the_gateway_bench(tmp_path: Path) -> None:
    assert proxy(tmp_path / "gateway.json") is None
    plain = {"whole_compared": {"throughput_times": 4.5, "added_share": 0.2}, "stream_compared": {}}
    (tmp_path / "gateway.json").write_text(json.dumps({"plain": plain}))
    assert proxy(tmp_path / "gateway.json") == {
        "not streamed": {"throughput_times": 4.5, "added_share": 0.2}
    }


def test_published_figures_are_shares_with_a_source() -> None:
    for row in PUBLISHED:
        figures = [row.f1, row.f1_qa, row.f1_summary, row.balanced_accuracy_qa]
        assert any(figures), row
        assert all(0.4 < one < 0.9 for one in figures if one is not None), row
        assert row.source


def rows(tmp_path: Path) -> tuple[Path, Path]:
    grounding = [
        {
            "set": "ragtruth", "task": ("qa", "summary")[n % 2], "question": "How long is leave?",
            "evidence": f"Leave lasts {n} weeks in town {n}. Parents share it.",
            "claim": f"Leave lasts {n if n % 3 else n + 1} weeks.",
            "label": "entail" if n % 3 else "not_entail",
        }
        for n in range(24)
    ]  # fmt: skip
    other = {**grounding[0], "set": "wice"}
    written = [
        {
            "id": str(n), "passages": [f"The fee is {n} euros in town {n}."],
            "qa": [{"q": "Fee?", "a": f"It is {n} euros.", "w": [{"t": f"It is {n + 1} euros."}]}],
        }
        for n in range(8)
    ]  # fmt: skip
    return (
        write(tmp_path / "grounding.jsonl", [*grounding, other]),
        write(tmp_path / "written.jsonl.gz", written),
    )


def test_the_rows(tmp_path: Path) -> None:
    grounding, written = rows(tmp_path)
    found = read_ragtruth(grounding)
    assert len(found) == 24
    assert [one.supported for one in found[:4]] == [False, True, True, False]
    drafts = read_written(written)
    assert [(one.text, one.supported) for one in drafts[:2]] == [
        ("It is 0 euros.", True), ("It is 1 euros.", False),
    ]  # fmt: skip
    none = write(tmp_path / "none.jsonl", [{**found[0].row(), "set": "wice"}])
    with pytest.raises(SourceMissing, match="no rows of the set “ragtruth”"):
        read_ragtruth(none)


def test_the_command_and_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnx")
    monkeypatch.setattr("suffice.models.catalog.open_verifier", lambda *_: OverlapVerifier())
    monkeypatch.setattr("suffice.models.catalog.open_embedder", lambda *_: HashEmbedder())
    monkeypatch.setattr(bench, "peers", partial(peers, TINY, TINY, TINY))
    monkeypatch.setattr(quality, "_DRAWS", 20)
    grounding, written = rows(tmp_path)
    output = tmp_path / "peers.json"
    options = ["--written", written, "--limit", 12, "--timed", 2, "--rounds", 1, "--quiet"]
    done = CliRunner().invoke(
        benchmarks,
        ["peers", str(grounding), *map(str, options), "--output", str(output)],
        catch_exceptions=False,
    )
    assert done.exit_code == 0
    for said in ("NLI loop", "embeddings only", "flag everything", "not run here"):
        assert said in done.output
    found = json.loads(output.read_text())
    assert found["quality"].keys() == {"ragtruth", "written"}
    assert found["quality"]["ragtruth"]["n"] == 12
    assert found["quality"]["ragtruth"]["tasks"].keys() == {"qa", "summary"}
    everything = found["quality"]["written"]["detectors"]["flag everything"]
    assert (everything["auroc"], everything["balanced_accuracy"]) == (0.5, 0.5)
    names = [(row["name"], row.get("precision")) for row in found["speed"]["detectors"]]
    assert len(names) == 9
    assert names[0] == ("Suffice, fast tier", None)
    assert all(row["ratio"] > 0 for row in found["speed"]["detectors"])
    assert len(found["speed"]["load"]) == 2

    speed = list(pages.peers_speed(found))
    assert speed[0].count("|") == speed[2].count("|")
    assert sum("int8 |" in line for line in speed) == 3
    shown = "\n".join(pages.peers_quality(found))
    assert "| ragtruth, qa (6) |" in shown
    assert shown.count("| flag everything |") == 2
    published = list(pages.peers_published(found))
    assert len(published) == 2 + len(PUBLISHED)
    assert "published, not run here" in published[0]

    more = ["--only", "quality", "--limit", "8", "--quiet", "--output", str(output)]
    CliRunner().invoke(benchmarks, ["peers", str(grounding), *more], catch_exceptions=False)
    again = json.loads(output.read_text())
    assert again["speed"] == found["speed"]
    assert again["quality"].keys() == {"ragtruth"}
    assert list(pages.peers_quality({})) == list(pages.peers_speed({})) == []
