"""Passages as anyone hands them over: what is known of them is kept."""

from __future__ import annotations

from typing import Any

import pytest

from suffice.evidence.inputs import given


def test_summary_and_temperature_are_kept() -> None:
    (one,) = given({"text": "Leave.", "summary": " On\nparental leave ", "temperature": 41})
    assert one.passage.summary == "On parental leave"
    assert one.passage.temperature == 41.0


@pytest.mark.parametrize("odd", [None, "hot", True, float("nan"), float("inf"), 10**400, [37]])
def test_a_temperature_that_is_no_number_is_not_known(odd: Any) -> None:
    (one,) = given({"text": "Leave.", "temperature": odd})
    assert one.passage.temperature is None
    (other,) = given({"text": "Leave.", "summary": odd})
    assert other.passage.summary == ("hot" if odd == "hot" else "")
