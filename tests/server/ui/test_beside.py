"""People who browse do not slow the gateway's own requests down."""

from __future__ import annotations

import threading
import time
from statistics import quantiles

import pytest

from suffice.server.ui.app import NAV
from tests.server.gateway import RunningGateway
from tests.server.ui.visitors import Visitor

PEOPLE, CHECKS = 10, 60
PAUSE = 1.0
"""Seconds that a person looks at a page, at least."""
BODY = {
    "answer": "Leave lasts 18 weeks [1]. It is requested eight weeks ahead [1].",
    "evidence": ["Leave lasts 18 weeks. It must be requested at least eight weeks ahead."],
}


def p95(site: RunningGateway) -> float:
    """The 95th percentile of the time of a check, in seconds."""
    times = []
    for _ in range(CHECKS):
        began = time.perf_counter()
        assert site.post("/check", BODY).status_code == 200
        times.append(time.perf_counter() - began)
    return quantiles(times, n=20)[-1]


@pytest.mark.timing
def test_ten_people_who_browse_leave_the_checks_alone(open_site: RunningGateway) -> None:
    stop = threading.Event()
    seen: list[int] = []

    def browse(first: int) -> None:
        with Visitor(open_site) as visitor:
            for n in range(first, 10_000):
                if stop.wait(PAUSE):
                    return
                seen.append(visitor.get(NAV[n % len(NAV)].path).status_code)

    p95(open_site)  # warm
    alone = p95(open_site)
    people = [threading.Thread(target=browse, args=(n,)) for n in range(PEOPLE)]
    for one in people:
        one.start()
    try:
        beside = p95(open_site)
    finally:
        stop.set()
        for one in people:
            one.join()
    assert set(seen) == {200}
    assert len(seen) >= PEOPLE
    assert beside < 1.2 * alone, f"{alone * 1e3:.0f} ms alone, {beside * 1e3:.0f} ms beside"
