"""`suffice check`: check an existing answer against the passages it was written from."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from suffice.answers import Checker
from suffice.cli import as_json as to_json
from suffice.cli.check_page import page
from suffice.cli.recording import Wish, recorded, recorder, show_record
from suffice.cli.show_check import show_checked
from suffice.cli.store_options import CONFIG, JSON
from suffice.errors import AnswerError, SourceMissing, SufficeError
from suffice.evidence.bundle import read_bundle, read_piece
from suffice.evidence.inputs import Given
from suffice.evidence.read.decode import unix_lines
from suffice.evidence.sources import Cutting, check_exists
from suffice.models.caching import CachedEmbedder
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.record.setup import Setup
from suffice.settings import Settings, read_settings


@click.command()
@click.option("--answer", required=True, help="File with the answer, or - for standard input.")
@click.option(
    "--evidence",
    required=True,
    help="Passages: a text file, a JSON list, a folder, or - for standard input.",
)
@click.option("--question", help="Question that was asked; helps to interpret short claims.")
@click.option(
    "--uncited", is_flag=True, help="The answer has no citations: check it against all passages."
)
@click.option(
    "--tier",
    type=click.Choice(["fast", "strong", "llm"]),
    help="Verifier: fast, strong, or llm for your own LLM (default: from the settings).",
)
@click.option("--html", type=click.Path(path_type=Path), help="Write an HTML report to this file.")
@CONFIG
@click.option(
    "--store",
    metavar="FILE_OR_URL",
    help="Record the verdict in this store's log; the store is created if needed.",
)
@JSON
@recorded
def check(
    answer: str,
    evidence: str,
    question: str | None,
    uncited: bool,
    tier: str | None,
    html: Path | None,
    config: str | None,
    store: str | None,
    as_json: bool,
    wish: Wish,
) -> int:
    """Check every claim of an answer against its evidence. The answer is not modified.

    The citation [n] refers to the n-th passage: an item of a JSON list, a part of a text that
    numbers its parts [1], [2] …, or a passage of a folder's files in alphabetical order.

    Exit code 0: the answer may be released. 2: it should be withheld or reviewed. 1: error.
    """
    if answer == evidence == "-":
        raise AnswerError(
            "Answer and evidence cannot both come from standard input.",
            remedy="Pass one of them as a file.",
        )
    settings = read_settings(config)
    text = _answer(answer, settings)
    embedder = CachedEmbedder(open_embedder(settings.embedder))
    passages = _passages(evidence, settings, embedder)
    verifier = open_verifier(settings.verifier, tier or "", settings.draft)
    checker = Checker.of(settings, verifier, embedder, uncited=uncited)
    if wish.wanted(settings, kept=store is not None):
        from suffice.sql.database import Database  # only a record needs the store

        options = {"uncited": str(uncited), "tier": tier or ""}
        own = settings.collection("")
        setup = Setup.of(settings, own, embedder.id, verifier.id, door="answers", options=options)
        database = Database.open(
            store or settings.store, create=True, wait=settings.store_wait_seconds
        )
        checker = replace(checker, record=recorder(database, settings, wish, setup))
    verdict = checker.check(text, passages, question)
    if html is not None:
        _write(html, page(verdict))
    if as_json:
        to_json.show(to_json.checked(verdict))
    else:
        show_checked(verdict)
        show_record(verdict.record)
    return 0 if verdict.served else 2


def _answer(source: str, settings: Settings) -> str:
    """Read the answer's text. An empty answer is valid input and gets a verdict."""
    most = settings.read.max_bytes
    data = sys.stdin.buffer.read(most + 1) if source == "-" else _bytes(Path(source), most)
    if len(data) > most:
        raise AnswerError(
            f"The answer is over the limit of {most:,} bytes (read.max_bytes).",
            remedy="Check it in parts, or raise the limit.",
        )
    try:
        return unix_lines(data.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        raise AnswerError(
            f"The answer is not valid UTF-8 (at byte {problem.start}).",
            remedy="Save it as UTF-8 text.",
        ) from problem


def _bytes(path: Path, most: int) -> bytes:
    check_exists(path)
    if not path.is_file():
        raise SourceMissing(
            f"{path} is not a file.", remedy="Pass the file that contains the answer."
        )
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as problem:
        raise AnswerError(
            f"Cannot read {path}: {problem.strerror}.", remedy="Check the file permissions."
        ) from problem


def _passages(source: str, settings: Settings, embedder: Embedder) -> list[Given]:
    most = settings.read.max_bytes
    if source == "-":
        return read_piece(sys.stdin.buffer.read(most + 1), "standard input", most)
    cutting = Cutting(embedder, min(settings.passages.max_tokens, embedder.window))
    return read_bundle(Path(source), cutting, most)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise SufficeError(
            f"Cannot write {path}: {problem.strerror}.", remedy="Choose another file."
        ) from problem
