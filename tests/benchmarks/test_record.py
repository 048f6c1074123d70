"""The log bench at small size: real processes, real logs."""

from __future__ import annotations

import pytest

from benchmarks import record, record_writers
from benchmarks.record import WANTED, bench_record


def test_it_measures_appending_verifying_and_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_writers, "WRITERS", 2)
    monkeypatch.setattr(record, "_FEW", 10)
    monkeypatch.setattr(record, "_TIMES", 3)
    figures = bench_record(None, 80, 100, lambda what, done, total: None)
    sqlite, page = figures["sqlite"], figures["page"]
    assert sqlite["verified"] == 80
    for name in ("append_per_s", "append_cpu_us", "bare_per_s", "verify_per_s", "group"):
        assert sqlite[name] > 0
    assert sqlite["share_of_bare"] == pytest.approx(
        sqlite["append_per_s"] / sqlite["bare_per_s"], rel=0.1
    )
    assert page["times"] == pytest.approx(page["many_ms"] / page["few_ms"], rel=0.1)
    assert 5_000 < figures["record_bytes"] < 20_000
    assert "postgresql" not in figures
    assert figures["wanted"] == WANTED
