"""A driver in a process of its own, and an engine one of whose workers is killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from suffice.lab.batch import run
from suffice.lab.batch.rows import Chunk, RowProgress, Source, Task
from suffice.lab.batch.run import OnRay
from tests.lab.batch.batches import work


class Deadly(OnRay):
    """Kills the worker that has the chunk 3, once."""

    def __init__(self, marks: Path) -> None:
        super().__init__(workers=2)
        self._marks = marks

    def parts(
        self, task: Task, sources: Sequence[Source], chunks: Sequence[Chunk], progress: RowProgress
    ) -> Iterator[tuple[int, bytes]]:
        marks, plain = self._marks, run._Actor

        class Killed(plain):  # type: ignore[misc, valid-type]
            def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
                if int(row["number"]) == 3 and not (marks / "killed").exists():
                    (marks / "killed").touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                result: dict[str, Any] = super().__call__(row)
                return result

        run._Actor = Killed  # type: ignore[misc]
        try:
            yield from super().parts(task, sources, chunks, progress)
        finally:
            run._Actor = plain  # type: ignore[misc]


if __name__ == "__main__":
    work([Path(sys.argv[1])], Path(sys.argv[2]), engine=OnRay(workers=1), chunk_rows=1)
