"""One choice of a stream as it grows."""

from __future__ import annotations

from time import process_time

import pytest

from suffice.server.openai.streamed_reply import StreamedChoice


@pytest.mark.timing
@pytest.mark.parametrize(
    "sentence", ["You may work remotely 3 days. [1] ", "Is it so? ", "a ", "-\n"]
)
def test_between_two_pieces_only_what_is_new_is_read(sentence: str) -> None:
    def seconds(times: int) -> float:
        streamed_choice, start = StreamedChoice(0), process_time()
        for _ in range(times):
            streamed_choice.hear({"index": 0, "delta": {"content": sentence}})
            _ = streamed_choice.grown
        return process_time() - start

    small = min(seconds(500) for _ in range(3))
    assert min(seconds(4_000) for _ in range(3)) < 24 * small + 0.05
