"""`suffice batch`: check or gate many rows, in one process or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from suffice.cli import as_json as to_json
from suffice.cli.options import POLICY, TIER, Options, shared, with_options
from suffice.errors import SettingsError
from suffice.evidence.index import today
from suffice.gate.policies.policy import known_policy
from suffice.lab.batch.rows import Task
from suffice.lab.batch.run import ROWS_A_CHUNK, Engine, OneProcess, OnRay, Summary, run_batch


@dataclass(frozen=True, slots=True)
class Job:
    """The options that `check` and `gate` share."""

    inputs: tuple[str, ...]
    output: str
    engine: Engine
    chunk: int
    work: Path | None
    restart: bool
    options: Options

    def run(self, task: Task) -> int:
        with self.options.progress() as report:
            summary = run_batch(
                task,
                self.inputs,
                self.output,
                engine=self.engine,
                chunk_rows=self.chunk,
                work=self.work,
                restart=self.restart,
                report=report,
            )
        if self.options.as_json:
            to_json.show(asdict(summary))
        else:
            _show(summary)
        return 2 if summary.bad else 0


def batched(command: Callable[..., int]) -> Callable[..., int]:
    """Add the shared arguments to a command and pass them to it as a `Job`."""

    @wraps(command)
    def called(
        inputs: tuple[str, ...],
        output: str,
        engine: str,
        address: str | None,
        workers: int | None,
        chunk: int,
        work: Path | None,
        restart: bool,
        options: Options,
        **own: Any,
    ) -> int:
        chosen = _engine(engine, address, workers)
        return command(Job(inputs, output, chosen, chunk, work, restart, options), **own)

    decorators: list[Callable[[Any], Any]] = [
        click.argument("inputs", nargs=-1, required=True, metavar="INPUT..."),
        click.argument("output"),
        click.option(
            "--engine",
            type=click.Choice(["process", "ray"]),
            default="process",
            show_default=True,
            help="Run in this process, or on a Ray cluster.",
        ),
        click.option("--address", help="Address of the Ray cluster (default: start a local one)."),
        click.option(
            "--workers", type=click.IntRange(1), help="Ray workers (default: one per CPU)."
        ),
        click.option(
            "--chunk",
            type=click.IntRange(1, 100_000),
            default=ROWS_A_CHUNK,
            show_default=True,
            help="Rows that are saved together. A killed run repeats at most one chunk per worker.",
        ),
        click.option(
            "--work",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder for unfinished work (default: OUTPUT.work).",
        ),
        click.option("--restart", is_flag=True, help="Discard earlier work and an earlier output."),
        shared("config", "as_json", "quiet"),
    ]
    return with_options(called, *decorators)


@click.group()
def batch() -> None:
    """Check or gate many rows from JSON lines or Parquet files.

    A row has "question", "evidence" (a list of texts or objects), "answer" and optionally "id".
    INPUT is a file, a folder, a glob or a URL such as s3://bucket/rows/*.parquet. OUTPUT is one
    file: JSON lines (.jsonl, .jsonl.gz) or .parquet, in the order of the input. Rows that cannot be
    used go to OUTPUT.bad.jsonl with the reason.

    A run that was killed continues where it stopped: run the same command again.
    """


@batch.command("check")
@click.option(
    "--uncited", is_flag=True, help="The answers have no citations: check against all evidence."
)
@TIER
@batched
def check(job: Job, uncited: bool, tier: str | None) -> int:
    """Check the answer of every row against its evidence.

    Exit code 0: all rows are in the output. 2: some rows could not be used. 1: error.
    """
    return job.run(Task("check", today(), job.options.settings, tier or "", uncited))


@batch.command("gate")
@POLICY
@batched
def gate(job: Job, policy: str | None) -> int:
    """Check whether the evidence of every row suffices to answer its question.

    Exit code 0: all rows are in the output. 2: some rows could not be used. 1: error.
    """
    settings = job.options.settings
    if policy:
        settings = replace(settings, gate=replace(settings.gate, policy=known_policy(policy)))
    return job.run(Task("gate", today(), settings))


def _engine(name: str, address: str | None, workers: int | None) -> Engine:
    if name == "ray":
        return OnRay(address, workers)
    if address or workers:
        raise SettingsError(
            "--address and --workers apply to Ray only.", remedy="Add --engine ray."
        )
    return OneProcess()


def _show(summary: Summary) -> None:
    console = Console()
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, rows in summary.counts.items():
        table.add_row(name, f"{rows:,}")
    if summary.bad:
        table.add_row(Text("not usable", style="red"), f"{summary.bad:,}")
    console.print(table)
    resumed = f" ({summary.resumed:,} from an earlier run)" if summary.resumed else ""
    console.print(f"{summary.rows:,} rows{resumed} → {summary.output}", soft_wrap=True)
    if summary.bad_rows:
        console.print(f"Rows not used, with reasons: {summary.bad_rows}", soft_wrap=True)
