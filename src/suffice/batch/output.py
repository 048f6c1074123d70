"""The final output of a batch: JSON lines, compressed JSON lines or Parquet, in input order."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from suffice.batch.sources import arrow, file_system, is_url
from suffice.batch.task import BAD, COUNTS
from suffice.batch.workspace import Workspace

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
