"""Runs a batch: plan → chunks → parts → one output. A killed run continues where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suffice.batch.engines import Engine, OneProcess
from suffice.batch.output import Output
from suffice.batch.rows import plan
from suffice.batch.sources import find_sources, is_url
from suffice.batch.task import Task
from suffice.batch.workspace import Manifest, Workspace
from suffice.errors import SufficeError

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
