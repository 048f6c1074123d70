"""The folder of a running batch: a manifest with the plan, and one part for each finished chunk.

Every file appears by an atomic rename, so a process that is killed leaves either a whole part or
none. A part that exists is never computed again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from suffice.batch.rows import Chunk
from suffice.batch.sources import Source
from suffice.errors import StoreBusy, SufficeError

_FORMAT = 1
_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a batch consists of. It is written once, before the first part."""

    task: str
    day: date
    sources: tuple[Source, ...]
    chunks: tuple[Chunk, ...]

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self.chunks)

    def differs(self, task: str, sources: tuple[Source, ...]) -> str:
        """What has changed since the run began; empty if nothing has."""
        if self.sources != sources:
            return "The input files"
        return "" if self.task == task else "The settings, the options or the installed packages"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The work folder of one output."""

    folder: Path

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Create the folder and hold its lock, which the system releases when a process dies."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / ".lock")
            lock.acquire(timeout=0)
        except Timeout as problem:
            raise StoreBusy(
                f"Another process is working in {self.folder}.",
                remedy="Wait until it ends, or choose another output.",
            ) from problem
        except OSError as problem:
            raise SufficeError(
                f"Cannot write to {self.folder}: {problem.strerror}.",
                remedy="Choose another output, or pass --work FOLDER.",
            ) from problem
        try:
            yield
        finally:
            lock.release()

    def manifest(self) -> Manifest | None:
        """The manifest of an earlier run, if there is one."""
        try:
            value = json.loads((self.folder / _MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        if value.get("format") != _FORMAT:
            raise SufficeError(
                f"{self.folder} was written by another version of Suffice.",
                remedy="Start again with --restart.",
            )
        return Manifest(
            value["task"],
            date.fromisoformat(value["day"]),
            tuple(Source(**source) for source in value["sources"]),
            tuple(Chunk(*chunk) for chunk in value["chunks"]),
        )

    def begin(self, manifest: Manifest) -> None:
        self.clear()
        value: dict[str, Any] = {
            "format": _FORMAT,
            "task": manifest.task,
            "day": manifest.day.isoformat(),
            "sources": [asdict(source) for source in manifest.sources],
            "chunks": [list(asdict(chunk).values()) for chunk in manifest.chunks],
        }
        write(self.folder / _MANIFEST, json.dumps(value).encode())

    def part(self, number: int) -> Path:
        return self.folder / f"part-{number:08d}"

    def keep(self, number: int, part: bytes) -> None:
        write(self.part(number), part)

    def finished(self) -> set[int]:
        """The numbers of the chunks whose part exists."""
        return {
            int(path.name.removeprefix("part-"))
            for path in self.folder.glob("part-*")
            if path.suffix != ".new"
        }

    def clear(self) -> None:
        """Remove the manifest first: parts without it are never read."""
        (self.folder / _MANIFEST).unlink(missing_ok=True)
        for path in self.folder.iterdir():
            if path.name != ".lock":
                path.unlink()

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def write(path: Path, data: bytes) -> None:
    """Write a file atomically and durably."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
