"""`suffice redteam`: attack the system with cases generated from your own documents."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli import as_json as to_json
from suffice.cli.options import open_library
from suffice.cli.progress import bars
from suffice.cli.recording import RECORD_RUN, record_run, user
from suffice.cli.show_redteam import show_redteam
from suffice.cli.store_options import JSON, QUIET, STORE, with_options
from suffice.errors import SourceMissing
from suffice.settings import Settings, read_settings

if TYPE_CHECKING:
    from suffice.evidence.library import Library
    from suffice.learn.redteam.run import System

_SHARE = click.FloatRange(0, 1)
_MORE = 3
"""Passages to retrieve for each passage kept, so that some are left if a document is hidden."""


def _options(command: Any) -> Any:
    return with_options(
        command,
        click.option("--docs", metavar="DIR", help="Folder or file; indexed if needed."),
        click.option("--llm", help="Drafter: extractive, or the base URL of an LLM endpoint."),
        click.option("--model", help="Model name at that endpoint."),
        click.option(
            "--attacks", multiple=True, metavar="NAME", help="Run only this attack (repeatable)."
        ),
        click.option(
            "--most",
            type=click.IntRange(min=1),
            default=7,
            show_default=True,
            help="Maximum number of cases per attack.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="Random seed."),
        click.option(
            "--out",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Report file (default: redteam-DATE.json).",
        ),
        click.option(
            "--last",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Report to compare with (default: the newest redteam-*.json in the same folder).",
        ),
        click.option(
            "--min-right", type=_SHARE, help="Exit with 2 if fewer attacks get the right action."
        ),
        click.option("--min-served", type=_SHARE, help="Exit with 2 if fewer twins are served."),
        RECORD_RUN,
        *STORE,
        JSON,
        QUIET,
    )


@click.command()
@_options
def redteam(
    docs: str | None,
    llm: str | None,
    model: str | None,
    attacks: tuple[str, ...],
    most: int,
    seed: int,
    out: Path | None,
    last: Path | None,
    min_right: float | None,
    min_served: float | None,
    record: bool | None,
    config: str | None,
    store: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Attack the system with cases generated from your own documents, and write a report.

    Each attack has a harmless twin that should be served. The report is a JSON file with every
    case, the models, the settings and a hash of the documents. It is compared with the last run.
    The log gets one record with the figures of the run.

    Exit code 0: done. 2: below --min-right or --min-served. 1: error.
    """
    from suffice.eval.run_record import run_record
    from suffice.learn.redteam.attacks import chosen
    from suffice.learn.redteam.material import Material
    from suffice.learn.redteam.report import compare, documents_hash, read_report, report
    from suffice.learn.redteam.run import attack_all
    from suffice.learn.runs import of_redteam

    wanted = chosen(attacks)
    settings = read_settings(config)
    draft = settings.draft
    draft = replace(draft, llm=llm or draft.llm, model=model or draft.model)
    settings = replace(settings, draft=draft)
    library = open_library(settings, store, docs)
    started = datetime.now(UTC)
    out = out or Path(f"redteam-{started:%Y-%m-%dT%H%M%SZ}.json")
    if not out.parent.is_dir():
        raise SourceMissing(f"There is no folder {out.parent}.", remedy="Create it first.")
    earlier = last or _newest(out)
    before = read_report(earlier) if earlier else None
    with bars(quiet=quiet) as progress:
        if docs is not None:
            library.add(docs, progress=progress).require_any(docs)
        passages = _passages(library)
        system, setup = _system(library, settings)
        material = Material(passages, seed)
        found = report(attack_all(wanted, material, system, most, progress))
    found = {
        "date": started.isoformat(timespec="seconds"),
        "documents": {
            "documents": len({one.document for one in passages}),
            "passages": len(passages),
            "sha256": documents_hash(passages),
        },
        "setup": setup,
        "seed": seed,
        "most": most,
        "run": run_record(),
        **found,
    }
    found["last_run"] = compare(found, before) if before else None
    out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    kept = docs is None or store is not None
    record_run(library, of_redteam(found, user()), record=record, kept=kept)
    if as_json:
        to_json.show(found)
    else:
        show_redteam(found, out)
    return 2 if _below(found["total"], min_right, min_served) else 0


def _passages(library: Library) -> tuple[Any, ...]:
    """The passages in force today that a caller without access labels may read."""
    search = library.search()
    stored = library.store.changes(0, library.embedder.id)
    allowed = search.allowed.dated()
    found = tuple(one.passage for batch in stored for one in batch if allowed.allows(one.passage))
    if not found:
        raise SourceMissing(
            "There are no documents to generate attacks from.", remedy="Add --docs DIR."
        )
    return found


def _system(library: Library, settings: Settings) -> tuple[System, dict[str, Any]]:
    """The configured pipeline and checks, and their identifiers."""
    from suffice.answers import Checker
    from suffice.eval.once import once
    from suffice.learn.redteam.run import System
    from suffice.models.caching import CachedEmbedder
    from suffice.models.catalog import open_verifier
    from suffice.pipeline import Pipeline
    from suffice.record.setup import Setup

    own = settings.collection("default")
    # An attack and its twin share most of their evidence.
    verifier = once(open_verifier(settings.verifier, "", own.draft))
    embedder = CachedEmbedder(library.embedder)
    keep = own.search.top_k
    search = library.search(top=_MORE * keep)
    pipeline = Pipeline.of(search, embedder, own, verifier)
    checker = Checker.of(settings, verifier, embedder)
    record = Setup.of(settings, own, library.embedder.id, verifier.id).record()
    setup = {
        "id": record.id,
        "models": {"embedder": library.embedder.id, "verifier": verifier.id},
        "tier": verifier.tier,
        "drafter": "extractive" if own.draft.llm == "extractive" else own.draft.model or "llm",
    }
    return System(pipeline, checker, keep), setup


def _newest(out: Path) -> Path | None:
    """The newest other report in the same folder."""
    others = list(out.parent.glob("redteam-*.json"))
    return max(others, key=lambda one: (one.stat().st_mtime, one.name), default=None)


def _below(total: dict[str, Any], right: float | None, served: float | None) -> bool:
    return bool(
        (right is not None and total.get("right_share", 0.0) < right)
        or (served is not None and total.get("twins_served_share", 0.0) < served)
    )
