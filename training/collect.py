"""Cut the passages of annotated cases from the documents of other projects.

    git clone --bare REPOSITORY checkouts/SOURCE    # each source of data/collected/sources.json
    python -m training.collect --checkouts checkouts --out build/collected.jsonl.gz \
        --found build/found.jsonl.gz

This repository holds where a passage stands (data/collected/places.jsonl) and what was written
about it, not its text. Each passage is the text between two places of a document, below its
heading; a hash tells whether it is still the text that was annotated.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from suffice.evidence.read import SUFFIXES, read_bytes
from suffice.evidence.read.frontmatter import split as front_matter
from suffice.evidence.read.source import decode, first_heading, storable
from suffice.evidence.sources import Cutting
from suffice.evidence.split import Piece, split
from suffice.models.catalog import open_embedder
from suffice.settings import EmbedderSettings, PassageSettings
from suffice.text.readable import readable

from .rows import read_lines

PLACES = Path(__file__).parent / "data" / "collected"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--found", type=Path, help="the passages of drafts, too")
    given = parser.parse_args()
    write(given.out, collected(given.checkouts))
    if given.found:
        write(given.found, found(given.checkouts))


def write(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as out:
        count = sum(1 for line in lines if out.write(json.dumps(line) + "\n"))
    print(f"wrote {count} lines to {path}")


def collected(checkouts: Path) -> Iterator[dict[str, Any]]:
    """The cases with their passages, in the format of written/unwritten.jsonl.gz."""
    sources = json.loads((PLACES / "sources.json").read_text("utf-8"))
    embedder = open_embedder(EmbedderSettings())
    cutting = Cutting(embedder, min(PassageSettings().max_tokens, embedder.window))
    read: dict[tuple[str, str], Annotated] = {}
    for place in read_lines(PLACES / "places.jsonl"):
        source = sources[place["source"]]
        key = place["source"], place["file"]
        if key not in read:
            data = _file(checkouts / place["source"], source["commit"], place["file"])
            read[key] = as_annotated(data, Path(place["file"]).name, cutting)
        ways = product(*(passages_at(read[key], *span) for span in place["spans"]))
        passages = next((way for way in ways if digest(way) == place["sha256"]), None)
        if passages is None:
            raise SystemExit(f"{place['id']}: the text is not the one that was annotated.")
        own = {name: place[name] for name in ("id", "source", "file", "title")}
        yield own | {"licence": source["licence"], "passages": list(passages)}


def found(checkouts: Path) -> Iterator[dict[str, Any]]:
    """The passages on which drafts were written, each below its headings, as the product found
    them."""
    sources = json.loads((PLACES / "sources.json").read_text("utf-8"))
    read: dict[tuple[str, str], str] = {}
    for place in read_lines(PLACES / "drafts.jsonl"):
        source, passages = place["source"], []
        for name, start, end, above in place["passages"]:
            if (source, name) not in read:
                data = _file(checkouts / source, sources[source]["commit"], name)
                suffix = Path(name).suffix if Path(name).suffix in SUFFIXES else ".md"
                read[source, name] = read_bytes(data, suffix, name).text
            passages.append("\n".join([*above, read[source, name][start:end]]))
        if digest(passages) != place["sha256"]:
            raise SystemExit(f"{place['id']}: the text is not the one that was annotated.")
        yield {"id": place["id"], "passages": passages}


@dataclass(frozen=True, slots=True)
class Annotated:
    """A document with the headings of its parts."""

    text: str
    pieces: Sequence[Piece]


def as_annotated(data: bytes, name: str, cutting: Cutting) -> Annotated:
    """The document in which the places were counted: Markdown as it stands in the file, with its
    markup; other formats as the product reads them."""
    suffix = Path(name).suffix.lower()
    content = read_bytes(data, suffix if suffix in SUFFIXES else ".md", name)
    if suffix not in (".html", ".htm"):
        text = decode(data)
        front, body = front_matter(text)
        title = front.title or first_heading(text, body)
        content = replace(
            content, text=storable(text), body=body, front=replace(front, title=title)
        )
    declared = readable(content.front.title or "").strip()
    title = declared or Path(name).stem.replace("-", " ").replace("_", " ")
    return Annotated(content.text, split(content, title, cutting.tokens, cutting.budget))


def passages_at(document: Annotated, start: int, end: int) -> list[str]:
    """The text between two places, below the heading it stands under. The splitter decides where a
    long table goes on below its header and not below its heading, so those beside it come next; the
    hash tells which was annotated."""
    pieces = document.pieces
    place = next(n for n, piece in enumerate(pieces) if piece.start <= start < piece.end)
    near = (
        pieces[n]
        for n in (place, place + 1, place - 1, place + 2, place - 2)
        if 0 <= n < len(pieces)
    )
    above = dict.fromkeys(name for piece in near for name in (*piece.heading[::-1], ""))
    text = document.text[start:end].strip()
    return [text if text.startswith(name) else f"{name}\n{text}" for name in above]


def digest(passages: Sequence[str]) -> str:
    return hashlib.sha256("\n\n".join(passages).encode()).hexdigest()[:16]


def _file(checkout: Path, commit: str, name: str) -> bytes:
    shown = ["git", "-C", str(checkout), "show", f"{commit}:{name}"]
    return subprocess.run(shown, capture_output=True, check=True).stdout


if __name__ == "__main__":
    main()
