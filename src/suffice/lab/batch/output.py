"""The final output of a batch: JSON lines, compressed JSON lines or Parquet, in input order."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from filelock import FileLock, Timeout

from suffice.errors import StoreBusy, SufficeError
from suffice.lab.batch.rows import BAD, COUNTS, Chunk, Source, arrow, file_system, is_url

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


_ROWS_A_GROUP = 10_000
_SCALARS = {
    "check": {
        "verdict": "string",
        "reason": "string",
        "grade": "string",
        "confidence": "float64",
        "faithfulness": "float64",
        "fact_score": "float64",
        "share_read": "float64",
        "route": "string",
    },
    "gate": {
        "open": "bool_",
        "level": "string",
        "score": "float64",
        "policy": "string",
        "tier": "string",
    },
}


class Sink(Protocol):
    def __call__(self, line: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Output:
    """Where the results go. Unusable rows go to a side file with their reasons."""

    place: str
    kind: str

    @property
    def side_place(self) -> str:
        return f"{self.place}.bad.jsonl"

    @property
    def exists(self) -> bool:
        if not is_url(self.place):
            return Path(self.place).exists()
        system, path = file_system(self.place)
        return bool(system.get_file_info([path])[0].is_file)

    def prepare(self) -> None:
        """Report a missing extra before the first row."""
        if self.place.endswith(".parquet"):
            arrow("pyarrow.parquet", "Writing Parquet")
        if is_url(self.place):
            file_system(self.place)

    def merge(self, work: Workspace, parts: int) -> Counter[str]:
        """Write the output from all parts, and publish it last. Returns the counts by verdict."""
        counts = Counter[str]()
        fresh, side = work.folder / "output.new", work.folder / "bad.new"
        with self._sink(fresh) as sink, side.open("wb") as bad:
            for number in range(parts):
                with work.part(number).open("rb") as part:
                    for line in part:
                        mark, rest = line[:1], line[1:]
                        if mark == COUNTS:
                            counts.update(json.loads(rest))
                        elif mark == BAD:
                            bad.write(rest)
                        else:
                            sink(rest)
        if counts["bad"]:
            _publish(side, self.side_place)
        _publish(fresh, self.place)
        return counts

    @contextmanager
    def _sink(self, fresh: Path) -> Iterator[Sink]:
        if self.place.endswith(".parquet"):
            with _table(fresh, self.kind) as sink:
                yield sink
        elif self.place.endswith(".gz"):
            # Without a time and a name, equal results give equal files.
            with fresh.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, 0) as packed:
                yield lambda line: _write(cast(BinaryIO, packed), line)
        else:
            with fresh.open("wb") as file:
                yield lambda line: _write(file, line)


def _write(file: BinaryIO, line: bytes) -> None:
    file.write(line)


@contextmanager
def _table(fresh: Path, kind: str) -> Iterator[Sink]:
    """A Parquet table with a column for each scalar and the whole result as JSON."""
    pa, pq = arrow("pyarrow", "Writing Parquet"), arrow("pyarrow.parquet", "Writing Parquet")
    types = {"file": "string", "row": "int64", "id": "string", **_SCALARS[kind]}
    columns = [(name, getattr(pa, made)()) for name, made in types.items()]
    schema = pa.schema([*columns, ("result", pa.string())])
    waiting: list[dict[str, Any]] = []
    with pq.ParquetWriter(str(fresh), schema) as writer:

        def flush() -> None:
            writer.write_table(pa.Table.from_pylist(waiting, schema=schema))
            waiting.clear()

        def sink(line: bytes) -> None:
            value = json.loads(line)
            row = {name: value.get(name) for name in types}
            row["id"] = None if row["id"] is None else str(row["id"])
            waiting.append({**row, "result": line.decode().rstrip("\n")})
            if len(waiting) >= _ROWS_A_GROUP:
                flush()

        yield sink
        flush()


def _publish(fresh: Path, place: str) -> None:
    """Move a finished file to its place: by a rename, or to a URL by one upload."""
    if is_url(place):
        system, path = file_system(place)
        with fresh.open("rb") as data, system.open_output_stream(path) as target:
            shutil.copyfileobj(data, target, 1 << 20)
        return
    with fresh.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        os.replace(fresh, place)
    except OSError:  # --work is on another file system
        near = Path(f"{place}.new")
        shutil.copyfile(fresh, near)
        os.replace(near, place)
