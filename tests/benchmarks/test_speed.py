"""The speed bench with tiny shapes and a verifier that counts words."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import speed
from benchmarks.__main__ import benchmarks
from benchmarks.graph import Shape
from benchmarks.shapes import (
    DEBERTA,
    MODERNBERT,
    local_band,
    relative_buckets,
    write_deberta,
    write_modernbert,
)
from benchmarks.speed import answer, bench_speed, growth_exponent, passages, rivals
from suffice.errors import ExtraMissing, ModelError
from suffice.models.catalog import weights
from suffice.models.session import open_session
from suffice.models.verifier import Pair, SupportScore, Verifier
from tests.lab.eval.overlap import OverlapVerifier, silent, words

TINY = Shape(layers=2, hidden=32, heads=4, inner=64, span=8)
TOKENS = 37


def logits(path: Path) -> Any:
    ids = np.arange(TOKENS)[None]
    return open_session(path).run(None, {"input_ids": ids})[0]


def test_a_small_deberta_runs(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    parameters = write_deberta(tmp_path / "model.onnx", TINY, TOKENS)
    layer = 4 * 32 * 33 + 2 * 32 * 64 + 64 + 32 + 4 * 32
    assert parameters == 2 * layer + 2 * 8 * 32 + 4 * 32 + 32 * 33 + 33 * 3
    said = logits(tmp_path / "model.onnx")
    assert said.shape == (1, 1, 3)
    assert np.isfinite(said).all()


def test_a_small_modernbert_runs(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    parameters = write_modernbert(tmp_path / "model.onnx", TINY, TOKENS)
    layer = 4 * 32 * 32 + 3 * 32 * 64 + 2 * 32
    assert parameters == 2 * layer - 32 + 3 * 32 + 32 * 32 + 2 * 32
    said = logits(tmp_path / "model.onnx")
    assert said.shape == (1, TOKENS, 2)
    assert np.isfinite(said).all()


def test_local_attention_within_one_block_is_attention_to_all(tmp_path: Path) -> None:
    """Same weights, window too wide to matter: where blocks begin and end changes nothing."""
    pytest.importorskip("onnx")
    said = []
    for span in (2 * TOKENS, 4 * TOKENS):
        shape = Shape(layers=2, hidden=32, heads=4, inner=64, span=span)
        path = tmp_path / f"{span}.onnx"
        write_modernbert(path, shape, TOKENS)
        said.append(logits(path))
    write_modernbert(tmp_path / "narrow.onnx", TINY, TOKENS)
    np.testing.assert_allclose(said[0], said[1], atol=1e-5)
    assert not np.allclose(said[0], logits(tmp_path / "narrow.onnx"), atol=1e-3)


def test_the_band_lets_each_token_see_its_window_and_no_padding() -> None:
    tokens, reach = 10, 4
    seen = local_band(tokens, reach)[:, 0] == 0
    assert seen.shape == (3, 4, 12)
    for place in range(tokens):
        block, row = divmod(place, reach)
        keys = np.flatnonzero(seen[block, row]) + (block - 1) * reach
        assert keys.tolist() == [k for k in range(tokens) if abs(k - place) <= reach]


def test_relative_positions_are_exact_when_near_and_few_when_far() -> None:
    table = relative_buckets(512, 256)
    assert (table[200, 190], table[190, 200], table[3, 3]) == (256 + 10, 256 - 10, 256)
    assert (table.min(), table.max()) == (1, 511)
    assert len(np.unique(table[0])) < 257


def test_the_shapes_are_those_of_the_models() -> None:
    width, inner = DEBERTA.hidden, DEBERTA.inner
    assert 84e6 < DEBERTA.layers * (4 * width * width + 2 * width * inner) < 86e6
    width, inner = MODERNBERT.hidden, MODERNBERT.inner
    assert 110e6 < MODERNBERT.layers * (4 * width * width + 3 * width * inner) < 111e6
    deberta, modernbert = rivals()
    assert (deberta.calls, deberta.tokens) == (25, 300)
    assert (modernbert.calls, modernbert.tokens) == (1, 1488)


def test_the_text_is_always_the_same() -> None:
    assert passages(5) == passages(64)[:5]
    assert passages(5, 5) == passages(64)[5:10]
    assert set(answer(5)).isdisjoint(answer())
    assert len(set(passages(64))) == 64
    assert [len(passage.split()) for passage in passages(64)] == [200] * 64
    assert [len(sentence.split()) for sentence in answer()] == [20] * 5
    assert answer() == answer()
    for sentence, source in zip(answer(), passages(5), strict=True):
        shared = [len(words(sentence) & words(passage)) for passage in passages(5)]
        assert shared.index(max(shared)) == passages(5).index(source)
        assert sentence not in source


def test_the_text_has_the_tokens_that_the_shapes_are_given() -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(weights("minilm-l6-embedder") / "tokenizer.json"))
    tokenizer.no_truncation()
    text = " ".join(passages(64))
    rate = len(tokenizer.encode(text, add_special_tokens=False)) / len(text.split())
    assert rate == pytest.approx(speed.TOKENS_A_WORD, abs=0.02)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_growth_exponent(power: float) -> None:
    times = {size: 3 * size**power for size in speed.GROWTH}
    assert growth_exponent(times) == pytest.approx(power)
    assert growth_exponent({size: 100 + size for size in speed.GROWTH}) < 0.2


def measured(**options: Any) -> dict[str, Any]:
    pytest.importorskip("onnx")
    options = {"against": rivals(TINY, TINY), "growth": (1, 2, 4), "open_fresh": None, **options}
    return bench_speed(OverlapVerifier(), options.pop("open_fresh"), silent, **options)


def test_the_report() -> None:
    figures = measured(threads=1)
    assert figures.keys() == {
        "model", "fast_ms", "deberta_25_calls_ms", "deberta_ratio", "modernbert_pass_ms",
        "modernbert_ratio", "memory_mb", "growth", "shapes", "wanted", "run",
    }  # fmt: skip
    assert figures["growth"]["passages"].keys() == {"1", "2", "4"}
    assert figures["memory_mb"] is None
    assert figures["deberta_25_calls_ms"] > 0
    for name in ("deberta_25_calls", "modernbert_pass"):
        ratio = figures[f"{name.split('_')[0]}_ratio"]
        assert ratio == pytest.approx(figures["fast_ms"] / figures[f"{name}_ms"], rel=0.01)
    assert figures["shapes"]["threads"] == 1
    json.dumps(figures)


def test_the_strong_tier_is_timed_where_it_is_given() -> None:
    figures = measured(strong=OverlapVerifier(tier="strong"))
    ratio = figures["strong_ms"] / figures["fast_ms"]
    assert figures["strong_times_fast"] == pytest.approx(ratio, rel=0.01)


@dataclass(frozen=True)
class Loading(OverlapVerifier):
    """Loads for a while on first use; like llama.cpp it reads for nothing what it read last."""

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        known = bool(self.calls) and self.calls[-1][0].evidence == pairs[0].evidence
        time.sleep(0.0 if known else 0.02 if self.calls else 0.5)
        return super().support(pairs)


@pytest.mark.timing
def test_the_strong_tier_is_loaded_before_it_is_timed_and_reads_anew_each_turn() -> None:
    strong = Loading(tier="strong")
    assert 20 <= measured(strong=strong)["strong_ms"] < 400
    assert len({call[0].evidence for call in strong.calls}) == len(strong.calls) > 2


def ballast(megabytes: int) -> Verifier:
    """Opened in another process: a verifier that once took so much memory."""
    assert len(bytearray(os.urandom(1000) * (megabytes * 1000))) > 0
    return OverlapVerifier()


def broken() -> Verifier:
    raise ValueError("no such weights")


def test_memory_is_that_of_a_fresh_process() -> None:
    """What this process holds does not count; a short peak over there does."""
    here = bytearray(os.urandom(1000) * 300_000)
    small = measured(open_fresh=partial(ballast, 1))["memory_mb"]
    large = speed._memory(partial(ballast, 100))
    assert 5 < small < 200 < len(here)
    assert 60 < large - small < 300


def test_a_verifier_that_does_not_open_over_there() -> None:
    with pytest.raises(ModelError, match="separate process: ValueError: no such weights"):
        measured(open_fresh=broken)


def test_a_verifier_that_reads_nothing_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "answer", lambda first: ("This is Latin.",))
    with pytest.raises(ModelError, match=r"overlap-1 cannot read the text of the bench: Latin\."):
        measured()


def test_the_extra_is_asked_for_at_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    verifier = OverlapVerifier()
    with pytest.raises(ExtraMissing, match=r"suffice\[bench\]"):
        bench_speed(verifier, None, silent)
    assert verifier.calls == []


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tiers that the command asks for; each opens the word counter beside tiny shapes."""
    pytest.importorskip("onnx")
    tiers: list[str] = []

    def open_verifier(settings: object, tier: str, draft: object = None) -> OverlapVerifier:
        tiers.append(tier)
        return OverlapVerifier(tier=tier)

    def read_settings(path: str | None) -> Any:
        return SimpleNamespace(verifier=SimpleNamespace(threads=1))

    monkeypatch.setattr("suffice.models.catalog.open_verifier", open_verifier, raising=False)
    monkeypatch.setattr("suffice.cli.options.read_settings", read_settings)
    monkeypatch.setattr(speed, "rivals", partial(rivals, TINY, TINY))
    monkeypatch.setattr(speed, "_memory", lambda open_fresh: 123)
    monkeypatch.setenv("COLUMNS", "80")
    return tiers


def test_the_command(opened: list[str]) -> None:
    done = CliRunner().invoke(benchmarks, ["speed", "--strong"], catch_exceptions=False)
    assert opened == ["fast", "strong"]
    assert all(len(line) <= 80 for line in done.output.splitlines())
    for said in ("25 or more", "4 or more", "4 or less", "123 MB", "to the power", "1.35 tokens"):
        assert said in done.output
    done = CliRunner().invoke(benchmarks, ["speed", "--json", "--quiet"], catch_exceptions=False)
    assert "strong_ms" not in json.loads(done.stdout)
    assert opened[2:] == ["fast"]
