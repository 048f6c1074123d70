"""Runs a batch: plan → chunks → parts → one output. A killed run continues where it stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from suffice.errors import ExtraMissing, SufficeError
from suffice.lab.batch.output import Manifest, Output, Workspace
from suffice.lab.batch.rows import (
    Chunk,
    Processor,
    RowProgress,
    Source,
    Task,
    find_sources,
    is_url,
    plan,
)

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


ROWS_A_CHUNK = 100
Report = Callable[[str, int, int], None]
"""Called with the step, the number done and the total."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a batch. `resumed` rows come from an earlier run that did not finish."""

    rows: int
    bad: int
    counts: Mapping[str, int]
    output: str
    bad_rows: str
    resumed: int = 0


def run_batch(
    task: Task,
    inputs: Sequence[str],
    place: str,
    *,
    engine: Engine | None = None,
    chunk_rows: int = ROWS_A_CHUNK,
    work: Path | None = None,
    restart: bool = False,
    report: Report = lambda what, done, total: None,
) -> Summary:
    """Process all rows of the inputs into one file at `place`. If the process dies, call this again
    with the same arguments: finished parts are kept, and every row appears exactly once."""
    output = Output(place, task.kind)
    output.prepare()
    workspace = Workspace(work or _beside(place))
    with workspace.alone():
        manifest = None if restart else workspace.manifest()
        if manifest is None:
            _refuse_existing(output, restart)
            manifest = _begin(task, inputs, chunk_rows, workspace)
        elif changed := manifest.differs(task.fingerprint, find_sources(inputs)):
            raise SufficeError(
                f"{changed} changed since the run in {workspace.folder} began.",
                remedy="Undo the change to resume, or discard the earlier work with --restart.",
            )
        task = replace(task, day=manifest.day)
        resumed = _work(task, manifest, workspace, engine or OneProcess(), report)
        counts = output.merge(workspace, len(manifest.chunks))
        workspace.clear()
    workspace.remove()
    bad = counts.pop("bad", 0)
    side = output.side_place if bad else ""
    return Summary(manifest.rows, bad, dict(sorted(counts.items())), place, side, resumed)


def _beside(place: str) -> Path:
    if is_url(place):
        raise SufficeError(
            f"An output at a URL needs a local folder for unfinished work: {place}.",
            remedy="Pass --work FOLDER.",
        )
    return Path(f"{place}.work")


def _refuse_existing(output: Output, restart: bool) -> None:
    if output.exists and not restart:
        raise SufficeError(
            f"{output.place} already exists.",
            remedy="Choose another output, or replace it with --restart.",
        )


def _begin(task: Task, inputs: Sequence[str], size: int, workspace: Workspace) -> Manifest:
    sources = find_sources(inputs)
    chunks = plan(sources, size, task.settings.read.max_bytes)
    manifest = Manifest(task.fingerprint, task.day, sources, tuple(chunks))
    workspace.begin(manifest)
    return manifest


def _work(
    task: Task, manifest: Manifest, workspace: Workspace, engine: Engine, report: Report
) -> int:
    """Compute the missing parts. Returns the number of rows in the parts that were there."""
    finished = workspace.finished()
    missing = [chunk for chunk in manifest.chunks if chunk.number not in finished]
    resumed = done = manifest.rows - sum(chunk.rows for chunk in missing)
    report("rows", done, manifest.rows)
    if not missing:
        return resumed
    rows = {chunk.number: chunk.rows for chunk in missing}
    parts = engine.parts(
        task, manifest.sources, missing, lambda some: report("rows", done + some, manifest.rows)
    )
    for number, part in parts:
        workspace.keep(number, part)
        done += rows[number]
        report("rows", done, manifest.rows)
    return resumed
