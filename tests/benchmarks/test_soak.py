"""The soak finds text that left unchecked, wherever it stands in a reply."""

from __future__ import annotations

import pytest

from benchmarks.faults import ASIDE, FALSE, FAULTS
from benchmarks.soak import unchecked

SENT = f'data: {{"choices":[{{"delta":{{"content":"{FALSE}"}}}}]}}'


@pytest.mark.parametrize(
    ("mode", "stream", "text", "leaks"),
    [
        ("buffer", False, "Not covered by the documents.", False),
        ("buffer", False, FALSE, True),
        ("buffer", True, FALSE, True),
        ("signal", False, FALSE, True),
        ("signal", True, f'{SENT} "verdict":"WITHHOLD"', False),
        ("signal", True, f'{SENT} "verdict":"SERVE"', True),
        ("signal", True, SENT, True),
        ("ungrounded", False, f"{FALSE} Unverified: no documents were consulted.", False),
        ("ungrounded", False, FALSE, True),
        ("ungrounded", False, f"{ASIDE} Unverified", True),
    ],
)
def test_a_leak_is_found(mode: str, stream: bool, text: str, leaks: bool) -> None:
    assert unchecked(mode, stream, text) is leaks


def test_there_are_more_than_twenty_kinds_of_fault() -> None:
    assert len(FAULTS) > 20
