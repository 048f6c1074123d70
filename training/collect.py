"""Cut the passages of annotated cases from the documents of other projects.

    git clone --bare REPOSITORY checkouts/SOURCE    # each source of collected/sources.json
    python training/collect.py --checkouts checkouts --out build/collected.jsonl.gz

This repository holds where a passage stands (collected/places.jsonl) and what was written about it,
not its text. Each passage is the text between two places of a document as the product reads it,
below its heading; a hash tells whether it is still the text that was annotated.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from rows import read_lines
from suffice.evidence.rows import NewVersion
from suffice.evidence.sources import Cutting, read_input
from suffice.models.catalog import open_embedder
from suffice.settings import EmbedderSettings, PassageSettings

PLACES = Path(__file__).parent / "collected"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    with gzip.open(given.out, "wt", encoding="utf-8") as out:
        count = sum(1 for case in collected(given.checkouts) if out.write(json.dumps(case) + "\n"))
    print(f"wrote {count} cases to {given.out}")


def collected(checkouts: Path) -> Iterator[dict[str, Any]]:
    """The cases with their passages, in the format of written/unwritten.jsonl.gz."""
    sources = json.loads((PLACES / "sources.json").read_text("utf-8"))
    embedder = open_embedder(EmbedderSettings())
    cutting = Cutting(embedder, min(PassageSettings().max_tokens, embedder.window))
    read: dict[tuple[str, str], NewVersion] = {}
    for place in read_lines(PLACES / "places.jsonl"):
        source = sources[place["source"]]
        key = place["source"], place["file"]
        if key not in read:
            data = _file(checkouts / place["source"], source["commit"], place["file"])
            name = Path(place["file"]).name
            read[key] = read_input(data, name, "", cutting, date.today(), len(data))
        passages = [passage(read[key], *span) for span in place["spans"]]
        if digest(passages) != place["sha256"]:
            raise SystemExit(f"{place['id']}: the text is not the one that was annotated.")
        own = {name: place[name] for name in ("id", "source", "file", "title")}
        yield own | {"licence": source["licence"], "passages": passages}


def passage(version: NewVersion, start: int, end: int) -> str:
    """The text between two places, below the heading it stands under."""
    text = version.text[start:end].strip()
    above = next(piece.heading for piece in version.pieces if piece.start <= start < piece.end)
    heading = above[-1] if above else ""
    return text if text.startswith(heading) else f"{heading}\n{text}"


def digest(passages: list[str]) -> str:
    return hashlib.sha256("\n\n".join(passages).encode()).hexdigest()[:16]


def _file(checkout: Path, commit: str, name: str) -> bytes:
    shown = ["git", "-C", str(checkout), "show", f"{commit}:{name}"]
    return subprocess.run(shown, capture_output=True, check=True).stdout


if __name__ == "__main__":
    main()
