"""Stage times add up, whatever runs inside or beside what."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from suffice.log.trace import Timings, added_up


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_stage_inside_another_counts_once_and_the_rest_is_named() -> None:
    clock = Clock()
    timings = Timings(clock)
    clock.now += 1
    with timings.measure("draft"):
        clock.now += 2
        with timings.measure("check"):
            clock.now += 4
        clock.now += 8
    clock.now += 16
    with timings.measure("check"):
        clock.now += 32
    assert dict(timings.stages) == {"draft": 10, "check": 36, "other": 17, "total": 63}


def test_stages_side_by_side_do_not_count_twice() -> None:
    clock = Clock()
    timings = Timings(clock)
    draft, check = timings.measure("draft"), timings.measure("check")
    draft.__enter__()
    clock.now += 1
    check.__enter__()
    clock.now += 2
    draft.__exit__(None, None, None)
    clock.now += 4
    check.__exit__(None, None, None)
    assert dict(timings.stages) == {"draft": 1, "check": 6, "other": 0, "total": 7}


def test_a_stage_that_still_runs_counts_so_far() -> None:
    clock = Clock()
    timings = Timings(clock)
    with timings.measure("draft"):
        clock.now += 3
        assert dict(timings.stages) == {"draft": 3, "other": 0, "total": 3}


@given(
    st.dictionaries(st.sampled_from(["search", "gate", "draft"]), st.floats(0, 100)),
    st.floats(0, 100),
)
def test_rounded_stages_add_up(stages: dict[str, float], rest: float) -> None:
    found = added_up(stages, sum(stages.values()) + rest)
    total = found.pop("total")
    assert round(sum(found.values()), 6) == total
    assert found["other"] >= 0
