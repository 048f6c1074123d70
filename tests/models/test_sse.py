"""Server-sent events, split at any byte."""

from __future__ import annotations

from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.models.wire.replies import Event, EventReader

DATA = st.sampled_from(['{"a": 1}', '{"b": "x\u2028y"}', "[DONE]", '{\n"c":\n[1]\n}'])


def read(sent: bytes, cuts: set[int]) -> list[Event]:
    places = [0, *sorted(cut for cut in cuts if cut < len(sent)), len(sent)]
    reader = EventReader()
    found = [one for begin, end in pairwise(places) for one in reader.feed(sent[begin:end])]
    return [*found, *reader.close()]


@given(
    events=st.lists(st.tuples(st.sampled_from(["", "error"]), DATA), max_size=5),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.sets(st.integers(0, 200)),
    bom=st.booleans(),
    whole=st.booleans(),
)
def test_any_parts_make_the_same_events(
    events: list[tuple[str, str]], end: str, cuts: set[int], bom: bool, whole: bool
) -> None:
    lines = ["\ufeff: hello" if bom else ": hello"]
    for name, data in events:
        lines += [f"event: {name}"] if name else []
        lines += [f"data: {line}" for line in data.split("\n")]
        lines.append("")
    sent = end.join([*lines, ""] if whole else lines).encode()
    assert read(sent, cuts) == [(name, data.encode()) for name, data in events]


def test_a_mark_of_order_before_the_first_event() -> None:
    assert read(b'\xef\xbb\xbfdata: {"a": 1}\n\n', {1, 2, 4}) == [("", b'{"a": 1}')]


@pytest.mark.timing
def test_a_long_line_in_small_parts_takes_no_longer_than_its_length_warrants() -> None:
    def seconds(length: int) -> float:
        reader, start = EventReader(), process_time()
        for _ in range(length):
            assert not list(reader.feed(b"x"))
        return process_time() - start

    small = min(seconds(20_000) for _ in range(3))
    assert min(seconds(160_000) for _ in range(3)) < 24 * small + 0.05
