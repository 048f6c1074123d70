"""Progress lines of long tasks without a terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from suffice.cli.progress import EVERY, Lines, bars


def test_long_work_is_told_now_and_then_and_short_work_not_at_all() -> None:
    now, written = [0.0], StringIO()
    tell = Lines(Console(file=written), clock=lambda: now[0])
    for second in range(25):
        now[0] = float(second)
        tell("passages", 1000 * second, 24_000)
    assert EVERY == 10
    assert written.getvalue() == (
        "passages: 10,000 of 24,000, 1,000/s, 0:00:14 left\n"
        "passages: 20,000 of 24,000, 1,000/s, 0:00:04 left\n"
    )


def test_what_an_earlier_run_did_does_not_count_for_the_rate() -> None:
    now, written = [0.0], StringIO()
    tell = Lines(Console(file=written), clock=lambda: now[0])
    tell("rows", 900, 1000)
    now[0] = 20.0
    tell("rows", 910, 1000)
    assert written.getvalue() == "rows: 910 of 1,000, 0.5/s, 0:03:00 left\n"


def test_off_a_terminal_lines_are_told() -> None:
    with bars(quiet=False) as progress:
        assert isinstance(progress, Lines)


def test_quiet_says_nothing() -> None:
    with bars(quiet=True) as progress:
        assert not isinstance(progress, Lines)
