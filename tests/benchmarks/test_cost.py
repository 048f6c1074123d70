"""How cost grows: ratios, made-up passages through the real index, the plot, the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.__main__ import benchmarks
from benchmarks.commands.cost import SERIES, merged
from benchmarks.cost import workers
from benchmarks.cost.checks import Sizes, checking
from benchmarks.cost.index import made_texts, made_vectors, searching
from benchmarks.cost.plot import _panels, plot_cost
from benchmarks.cost.series import Series, shortest
from benchmarks.cost.workers import working
from benchmarks.speed import answer
from scripts.pages import growth
from tests.fakes import HashEmbedder
from tests.lab.eval.overlap import OverlapVerifier, silent


class Clock:
    """Time that only work advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def work(self, *seconds: float) -> Callable[[int], None]:
        def run(turn: int) -> None:
            self.now += seconds[turn]

        return run


def test_the_shortest_of_turns_counts() -> None:
    clock = Clock()
    works = {1: clock.work(5, 1, 2), 10: clock.work(9, 8, 7)}
    assert shortest(works, 3, clock.perf_counter) == {1: 1000, 10: 7000}


def test_ratios_are_to_the_smallest_size() -> None:
    found = Series("T", "n", "time", {100: 40.0, 1: 4.0, 10: 12.649}, {10: {"memory_mb": 3}})
    figures = found.figures()
    assert [one["ratio"] for one in figures["points"]] == [1.0, 3.16, 10.0]
    assert figures["points"][1]["memory_mb"] == 3
    assert figures["exponent"] == pytest.approx(0.5, abs=0.001)


def test_answers_of_any_length() -> None:
    assert answer(0, 5) == answer()
    assert len(set(answer(0, 16))) == 16


def test_each_repeat_checks_new_texts_of_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[tuple[str, tuple[str, ...]]] = []
    recorder = SimpleNamespace(check=lambda text, evidence: checked.append((text, evidence)))
    monkeypatch.setattr("benchmarks.cost.checks.open_checker", lambda *args, **options: recorder)
    found = dict(checking(OverlapVerifier(), HashEmbedder(), Sizes((1, 2), (1, 3), (50, 250)), 2))
    assert {name: sorted(one.values) for name, one in found.items()} == {
        "answer": [1, 2], "passages": [1, 3], "context": [50, 250],
    }  # fmt: skip
    first, *rest = [
        (len(text.split()), [len(one.split()) for one in evidence]) for text, evidence in checked
    ]
    assert first == (20, [200])  # loads the models
    one_repeat = [(20, [200] * 5), (40, [200] * 5)]
    assert rest[:4] == one_repeat * 2
    assert rest[4:8] == [(100, [200]), (100, [200] * 3)] * 2
    assert rest[8:] == [(100, [50]), (100, [250])] * 2
    assert len({evidence for _, evidence in checked[1:5:2]}) == 2


def test_made_up_passages_have_topics_and_frequent_words() -> None:
    draw = np.random.default_rng(0)
    vectors = made_vectors(draw, 3000)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    near = np.sort((vectors @ vectors.T).ravel())[::-1][len(vectors) :]
    assert near[0] > 0.4  # of the same topic; of independent vectors at most 0.3
    words = " ".join(made_texts(draw, 200, 100)).split()
    assert words.count("term0") > 5 * words.count("term9") > 0


def test_the_index_is_searched_and_weighed(tmp_path: Path) -> None:
    ((name, found),) = searching(tmp_path, (60, 120), 1, silent)
    assert name == "index"
    assert all(ms > 0 for ms in found.values.values())
    assert all(10 < one["memory_mb"] < 2000 for one in found.more.values())
    assert all(one["disk_mb"] >= 0 for one in found.more.values())


def test_workers_are_compared_at_their_best(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = iter([(1.0, 0.9), (1.5, 1.6), (0.5, 0.4), (1.8, 1.9)])
    monkeypatch.setattr(workers, "_rate", lambda size, answers: next(rates))
    _, found = working((1, 2), 2, 3)
    assert [one["ratio"] for one in found.figures()["points"]] == [1.0, 1.8]
    assert found.more == {1: {"cores": 0.9}, 2: {"cores": 1.9}}


def test_one_part_replaces_its_own_series_only() -> None:
    before = {"series": {"workers": 1, "answer": 1, "index": 1}, "run": 1}
    after = {"series": {"index": 2}, "run": 2}
    found = merged(before, after)
    assert found == {"series": {"answer": 1, "index": 2, "workers": 1}, "run": 2}
    assert list(found["series"]) == [one for one in SERIES if one in found["series"]]


def test_the_command_its_plot_and_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("suffice.models.catalog.open_verifier", lambda *_: OverlapVerifier())
    monkeypatch.setattr("suffice.models.catalog.open_embedder", lambda *_: HashEmbedder())
    monkeypatch.setattr("benchmarks.cost.index._memory", lambda store: 50)
    output, plot = tmp_path / "cost.json", tmp_path / "plot" / "cost.svg"
    options = ["--quick", "--quiet", "--output", str(output), "--plot", str(plot)]
    done = CliRunner().invoke(benchmarks, ["cost", *options], catch_exceptions=False)
    assert done.exit_code == 0
    assert "times the smallest" in done.output
    found = json.loads(output.read_text())
    assert list(found["series"]) == [one for one in SERIES if one != "workers"]
    assert all(one["points"][0]["ratio"] == 1 for one in found["series"].values())
    assert [len(panel) for panel in _panels(found["series"])] == [1, 1, 1, 1, 2]
    first = plot.read_bytes()
    assert b"<svg" in first
    plot_cost(found, plot)
    assert plot.read_bytes() == first  # the same figures give the same file

    page = list(growth.cost(found))
    assert len([line for line in page if line.startswith("| ")]) == 1 + len(found["series"])
    assert any("50 MB of memory" in line for line in page)
