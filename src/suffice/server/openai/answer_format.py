"""How an API renders an answer, whole or streamed. A format decides nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from suffice.server.errors import ApiError
from suffice.server.openai.completion import Answer, ReleasedChoice

Raw = Mapping[str, Any]


class AnswerFormat(Protocol):
    """Renders one answer: as a whole, or as the events of a stream, from its first to its last."""

    @property
    def keep_alive(self) -> bytes:
        """Sent to keep the connection open while no event is ready."""
        ...

    def whole(self, answer: Answer) -> Raw:
        """The response."""
        ...

    def whole_events(self, answer: Answer) -> Iterator[bytes]:
        """All events of an answer that was decided before anything was sent."""
        ...

    def on_chunk(self, chunk: Raw, parts: Sequence[Raw]) -> Iterator[bytes]:
        """Events for an upstream's chunk. `parts` has the parts of its choices to forward."""
        ...

    def on_finding(self, index: int, kind: str, finding: Raw) -> Iterator[bytes]:
        """Events for a finding on a claim, sent while the stream continues."""
        ...

    def on_choice_end(self, index: int, text: str, choice: ReleasedChoice) -> Iterator[bytes]:
        """Events for a decided choice: its last text, and the verdict."""
        ...

    def on_stream_end(self, usage: Raw) -> Iterator[bytes]:
        """Events for the end of the stream, with the usage."""
        ...

    def on_error(self, fault: ApiError) -> bytes:
        """The event for an error after the stream began."""
        ...

    # Shadow mode

    def passthrough(self, reply: Raw) -> Raw:
        """An upstream's whole reply, unchanged."""
        ...

    def passthrough_chunk(self, chunk: Raw) -> Iterator[bytes]:
        """Events for an upstream's chunk, unchanged."""
        ...

    def passthrough_end(self, usage: Raw) -> Iterator[bytes]:
        """Events for the end of the stream."""
        ...
