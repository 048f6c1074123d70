"""`python -m benchmarks`: measure speed and load in a checkout."""

from __future__ import annotations

import click

from benchmarks.commands.calibration import calibration
from benchmarks.commands.cost import cost
from benchmarks.commands.gateway import gateway
from benchmarks.commands.indexing import indexing
from benchmarks.commands.literals import literals
from benchmarks.commands.peers import peers
from benchmarks.commands.record import record
from benchmarks.commands.redteam import redteam
from benchmarks.commands.release_fuzz import release_fuzz
from benchmarks.commands.scale import scale
from benchmarks.commands.site import site
from benchmarks.commands.soak import soak
from benchmarks.commands.speed import speed
from suffice.cli import run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def benchmarks() -> None:
    """Measure speed, load, the literals check and calibration. `suffice bench` measures quality."""


for command in (
    calibration,
    cost,
    gateway,
    indexing,
    literals,
    peers,
    record,
    redteam,
    release_fuzz,
    scale,
    site,
    soak,
    speed,
):
    benchmarks.add_command(command)


if __name__ == "__main__":
    run(benchmarks)
