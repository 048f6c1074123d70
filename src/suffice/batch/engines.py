"""The engines of a batch. Each turns chunks into parts with the same `Processor`, so the results
do not depend on the engine."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from suffice.batch.rows import Chunk
from suffice.batch.sources import Source
from suffice.batch.task import Processor, RowProgress, Task
from suffice.errors import ExtraMissing, SufficeError

_REACH_SECONDS = 10.0


class Engine(Protocol):
    def parts(
        self, task: Task, sources: Sequence[Source], chunks: Sequence[Chunk], progress: RowProgress
    ) -> Iterator[tuple[int, bytes]]:
        """The number and the part of each chunk, in any order.

        `progress` receives the number of rows done in the current chunk.
        """
        ...


class OneProcess:
    """Works through the chunks in order, in this process."""

    def parts(
        self, task: Task, sources: Sequence[Source], chunks: Sequence[Chunk], progress: RowProgress
    ) -> Iterator[tuple[int, bytes]]:
        processor = Processor(task, sources)
        for chunk in chunks:
            yield chunk.number, processor.part(chunk, progress)


class OnRay:
    """A pool of Ray actors. Each loads the models once, and Ray repeats the chunk of an actor that
    dies. Parts are written by the driver only, so a repeated chunk cannot appear twice."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._address, self._workers = address, workers

    def parts(
        self, task: Task, sources: Sequence[Source], chunks: Sequence[Chunk], progress: RowProgress
    ) -> Iterator[tuple[int, bytes]]:
        ray = _ray()
        if not ray.is_initialized():
            try:
                _reach(self._address)
                ray.init(address=self._address, log_to_driver=False, include_dashboard=False)
            except (OSError, ValueError, RuntimeError) as problem:
                raise SufficeError(
                    f"Cannot connect to Ray at {self._address or 'this machine'}: {problem}.",
                    remedy="Pass --address auto on a machine of the cluster, or ray://HOST:10001.",
                ) from problem
        ray.data.DataContext.get_current().enable_progress_bars = False
        most = self._workers or int(ray.cluster_resources().get("CPU", 1))
        # One block a chunk, so that a chunk is the unit of scheduling and of repetition.
        items = ray.data.from_items(
            [{"number": chunk.number, "chunk": _packed(chunk)} for chunk in chunks],
            override_num_blocks=len(chunks),
        )
        done = items.map(
            _Actor,
            fn_constructor_args=(task, tuple(sources)),
            compute=ray.data.ActorPoolStrategy(size=max(1, min(most, len(chunks)))),
            num_cpus=1,
        )
        try:
            for row in done.iter_rows():
                yield int(row["number"]), bytes(row["part"])
        except ray.exceptions.RayError as problem:
            raise _cause(problem) from problem


class _Actor:
    """A worker of the pool. It has one CPU, so the models run on one thread."""

    def __init__(self, task: Task, sources: tuple[Source, ...]) -> None:
        self._processor = Processor(task.on_one_thread(), sources)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        chunk = Chunk(*(int(value) for value in row["chunk"]))
        return {"number": chunk.number, "part": self._processor.part(chunk)}


def _reach(address: str | None) -> None:
    """Fail at once if nothing listens at the address: Ray itself tries for many minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), _REACH_SECONDS).close()


def _packed(chunk: Chunk) -> list[int]:
    return [chunk.number, chunk.source, chunk.first, chunk.rows, chunk.offset]


def _cause(problem: BaseException) -> SufficeError:
    """The error of a worker, with its own remedy if it has one."""
    cause: BaseException | None = problem
    while cause is not None:
        inner = getattr(cause, "cause", None) or cause.__cause__
        if isinstance(cause, SufficeError):
            return SufficeError(cause.message, remedy=cause.remedy)
        cause = inner
    return SufficeError(
        f"A Ray worker failed: {problem}",
        remedy="Finished parts are kept. Run the same command again to resume.",
    )


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as problem:
        raise ExtraMissing("The engine 'ray'", "ray") from problem
    return ray
