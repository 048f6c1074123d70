"""`suffice redteam`: attack the system with cases generated from your own documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.console import RenderableType
from rich.table import Table

from suffice.cli.figures import Figures, percent, print_figures
from suffice.cli.options import (
    LLM,
    MODEL,
    Options,
    open_library,
    shared,
    with_options,
)
from suffice.cli.recording import RECORD_RUN, record_run, user
from suffice.cli.show import plain
from suffice.errors import SourceMissing
from suffice.settings import Settings

if TYPE_CHECKING:
    from suffice.evidence.library import Library
    from suffice.lab.redteam.run import System

_EXAMPLES = 2
_WIDTH = 160


def show_redteam(found: Figures, out: Path) -> Iterator[RenderableType]:
    yield _table(found)
    yield from _examples(found)
    yield from _compared(found["last_run"])
    yield f"Report: {out}"


def _table(found: Figures) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_footer=True)
    total = found["total"]
    table.add_column("attack", "all", no_wrap=True)
    table.add_column("cases", str(total["cases"]), justify="right")
    table.add_column("right action", _share(total, "right"), justify="right", no_wrap=True)
    table.add_column("twins served", _share(total, "twins_served"), justify="right", no_wrap=True)
    for name, own in found["attacks"].items():
        if not own["cases"]:
            table.add_row(plain(name), "0", "no material", "")
            continue
        cells = (_share(own, "right"), _share(own, "twins_served"))
        table.add_row(plain(name), str(own["cases"]), *cells)
    return table


def _share(own: Figures, name: str) -> str:
    if not own["cases"]:
        return "–"
    low, high = own[f"{name}_interval"]
    return f"{own[f'{name}_share']:.0%} ({low:.0%} to {high:.0%})"


def _examples(found: Figures) -> Iterator[str]:
    """The first misses and false alarms of each attack."""
    for part, title in (("attack_result", "Missed"), ("twin", "Twin not served")):
        shown: dict[str, int] = {}
        for case in found["cases"]:
            one = case[part]
            if one["passed"] or shown.get(case["attack"], 0) >= _EXAMPLES:
                continue
            shown[case["attack"]] = shown.get(case["attack"], 0) + 1
            said = " ".join((one["draft"] or one["question"]).split())
            said = said if len(said) <= _WIDTH else "…" + said[-_WIDTH:]
            yield f"{title}, {case['attack']} ({case['what']}): {one['action']}: {said}"


def _compared(last: Figures | None) -> Iterator[str]:
    if last is None:
        return
    old, new = last["right_share"]
    yield (
        f"Last run {last['date']}: right action {percent(old, 0)}, now {percent(new, 0)}. Of "
        f"{last['compared_cases']} cases in both runs, {len(last['newly_missed'])} newly missed, "
        f"{len(last['newly_right'])} newly right, {len(last['newly_refused_twins'])} twins newly "
        "refused."
    )
    if not last["same_documents"]:
        yield "The documents have changed since then."
    if not last["same_setup"]:
        yield "The models or the settings have changed since then."


_SHARE = click.FloatRange(0, 1)
_MORE = 3
"""Passages to retrieve for each passage kept, so that some are left if a document is hidden."""


def _options(command: Any) -> Any:
    return with_options(
        command,
        click.option("--docs", metavar="DIR", help="Folder or file; indexed if needed."),
        LLM,
        MODEL,
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
        shared("config", "store", "as_json", "quiet"),
    )


@click.command()
@_options
def redteam(
    options: Options,
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
) -> int:
    """Attack the system with cases generated from your own documents, and write a report.

    Each attack has a harmless twin that should be served. The report is a JSON file with every
    case, the models, the settings and a hash of the documents. It is compared with the last run.
    The log gets one record with the figures of the run.

    Exit code 0: done. 2: below --min-right or --min-served. 1: error.
    """
    from suffice.lab.eval.run_record import run_record
    from suffice.lab.golden import of_redteam
    from suffice.lab.redteam.attacks import chosen
    from suffice.lab.redteam.material import Material
    from suffice.lab.redteam.run import attack_all, compare, documents_hash, read_report, report

    wanted = chosen(attacks)
    settings = options.settings
    draft = settings.draft
    draft = replace(draft, llm=llm or draft.llm, model=model or draft.model)
    settings = replace(settings, draft=draft)
    library = open_library(settings, options.store, docs)
    started = datetime.now(UTC)
    out = out or Path(f"redteam-{started:%Y-%m-%dT%H%M%SZ}.json")
    if not out.parent.is_dir():
        raise SourceMissing(f"There is no folder {out.parent}.", remedy="Create it first.")
    earlier = last or _newest(out)
    before = read_report(earlier) if earlier else None
    with options.progress() as progress:
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
    kept = docs is None or options.store is not None
    record_run(library, of_redteam(found, user()), record=record, kept=kept)
    print_figures(found, show_redteam(found, out), as_json=options.as_json)
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
    from suffice.engine import Engine
    from suffice.lab.eval.worker import once
    from suffice.lab.redteam.run import System
    from suffice.models.catalog import open_verifier

    own = settings.collection("default")
    # An attack and its twin share most of their evidence.
    verifier = once(open_verifier(settings.verifier, "", own.draft))
    engine = Engine(settings, embedder=library.embedder, verifier=verifier)
    keep = own.search.top_k
    assembly = engine.assemble(own)
    pipeline = assembly.pipeline(retriever=library.search(top=_MORE * keep))
    setup = {
        "id": assembly.setup().record().id,
        "models": {"embedder": library.embedder.id, "verifier": verifier.id},
        "tier": verifier.tier,
        "drafter": "extractive" if own.draft.llm == "extractive" else own.draft.model or "llm",
    }
    return System(pipeline, engine.checker(), keep), setup


def _newest(out: Path) -> Path | None:
    """The newest other report in the same folder."""
    others = list(out.parent.glob("redteam-*.json"))
    return max(others, key=lambda one: (one.stat().st_mtime, one.name), default=None)


def _below(total: dict[str, Any], right: float | None, served: float | None) -> bool:
    return bool(
        (right is not None and total.get("right_share", 0.0) < right)
        or (served is not None and total.get("twins_served_share", 0.0) < served)
    )
