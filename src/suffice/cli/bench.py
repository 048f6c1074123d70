"""`suffice bench`: measure quality on your own data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import click
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from suffice.cli.figures import Figures, figures_table, number, print_figures
from suffice.cli.options import TIER, Command, Options, shared, tier_option, with_options
from suffice.cli.show import plain
from suffice.evidence.ingest import Progress
from suffice.models.verifier import Verifier
from suffice.settings import LlmSettings, VerifierSettings

_COLUMNS = {
    "auroc": "AUROC",
    "balanced_accuracy": "bal.\nacc.",
    "open_rate": "open",
    "coverage_at_5": "served\nat 5 %\nrisk",
    "aurc": "AURC",
}


_WIDE = 96
"""Terminal width in characters from which table columns are two spaces apart."""


def bench_options(command: Command) -> Command:
    """Add the options that all benchmarks of a verifier share."""
    limit = click.option(
        "--limit",
        type=click.IntRange(min=1),
        help="Rows of each set; the selection is deterministic (default: all).",
    )
    data = click.argument("data", type=click.Path(path_type=Path))
    return with_options(command, data, TIER, limit, shared("config", "as_json", "quiet"))


def llm_options(command: Command) -> Command:
    """Add the options that select the LLM for `--tier llm`."""
    return with_options(
        command,
        click.option("--llm", metavar="URL", help="Base URL of the LLM (default: verifier.llm)."),
        click.option("--model", metavar="NAME", help="Model name."),
        click.option(
            "--key-env", metavar="NAME", help="Environment variable that holds the API key."
        ),
        click.option(
            "--ask",
            type=click.Choice(["band", "always"]),
            help="Query the LLM only where the cheaper tier is unsure (band), or for every row.",
        ),
    )


def _measure(
    options: Options,
    settings: VerifierSettings,
    tier: str | None,
    measure: Callable[[Verifier, Progress], Figures],
    show: Callable[[Figures], Iterable[RenderableType]],
) -> int:
    """Open the verifier, measure with it, and print the figures."""
    from suffice.models.catalog import open_verifier

    verifier = open_verifier(settings, tier or "", options.settings.draft)
    with options.progress() as progress:
        figures = measure(verifier, progress)
    print_figures(figures, show(figures), as_json=options.as_json)
    return 0


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=("all",),
    help="Policy to measure, or all (repeatable; default: all).",
)
@tier_option("Verifier tier")
@click.option("--limit", type=click.IntRange(min=1), help="Rows of each set (default: all).")
@click.option("--plots", type=click.Path(path_type=Path), help="Folder for PNG and SVG plots.")
@shared("config", "as_json", "quiet")
def gate(
    options: Options,
    data: Path,
    policies: tuple[str, ...],
    tier: str | None,
    limit: int | None,
    plots: Path | None,
) -> int:
    """Measure how well each policy opens the gate only if the passages in DATA answer the question.

    DATA rows are {"set", "question", "evidence": [passage, …], "sufficient": true or false}; JSON
    lines, optionally gzipped. AURC is the area under the risk-coverage curve; lower is better.
    """
    import numpy as np

    from suffice.lab.eval.gate import NAMES, bench_gate, need_plots, plot_gate
    from suffice.lab.eval.gate import policies as opened
    from suffice.models.catalog import open_embedder

    unknown = [name for name in policies if name not in (*NAMES, "all")]
    if unknown:
        raise click.BadParameter(f"unknown policy '{unknown[0]}'; allowed: {', '.join(NAMES)}, all")
    if plots:
        need_plots()
    settings = options.settings

    def measure(verifier: Verifier, progress: Progress) -> Figures:
        judges = opened(NAMES if "all" in policies else policies, settings.gate, verifier)
        embedder = open_embedder(settings.embedder)
        figures, decided, rows = bench_gate(data, judges, embedder, limit, progress)
        if plots:
            positive = np.array([bool(row["sufficient"]) for row in rows])
            plot_gate(decided, positive, [row["set"] for row in rows], plots)
        return {"tier": verifier.tier, "model": verifier.id, **figures}

    return _measure(options, settings.verifier, tier, measure, _show_gate)


def _show_gate(figures: Figures) -> Iterator[RenderableType]:
    """One block per set with one line per policy, then the means."""
    by_policy = figures["policies"]
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", overflow="ellipsis")
    for title in (*_COLUMNS.values(), "learned AURC\nminus this one"):
        table.add_column(title, justify="right", no_wrap=True)
    sets = list(next(iter(by_policy.values()))["sets"])
    for name in (*sets, "mean of sets"):
        table.add_section()
        table.add_row(plain(name), style="bold")
        for policy, found in by_policy.items():
            row = found["means"] if name == "mean of sets" else found["sets"][name]
            cells = [number(row.get(key)) for key in _COLUMNS]
            table.add_row(f"  {policy}", *cells, _apart(row.get("learned_minus")))
    yield table
    yield f"{figures['model']} ({figures['tier']}), {figures['embedder']}"


def _apart(paired: Mapping[str, float] | None) -> str:
    if paired is None:
        return ""
    return f"{paired['aurc']:+.3f} ({paired['low']:+.3f} to {paired['high']:+.3f})"


@click.command()
@bench_options
@llm_options
def grounding(options: Options, data: Path, tier: str | None, limit: int | None, **llm: Any) -> int:
    """Measure how well the verifier detects supported claims in DATA.

    DATA rows are {"set", "evidence", "claim", "label", "question"?, "task"?}; the label is entail
    (supported) or one of neutral, contradict, not_entail, partial. JSON lines, optionally gzipped.
    """
    from suffice.lab.eval.verifiers import bench_grounding

    return _measure(
        options,
        _with_llm(options.settings.verifier, tier, **llm),
        tier,
        lambda verifier, progress: bench_grounding(data, verifier, limit, progress),
        lambda figures: _show_verifier(figures, "supported", "length_auroc", "shorter answers"),
    )


@click.command()
@bench_options
@llm_options
def sufficiency(
    options: Options, data: Path, tier: str | None, limit: int | None, **llm: Any
) -> int:
    """Measure how well the verifier detects questions in DATA that their passages answer.

    DATA rows are {"set", "question", "evidence": [passage, …], "sufficient": true or false}; JSON
    lines, optionally gzipped.
    """
    from suffice.lab.eval.verifiers import bench_sufficiency

    labels = "sufficient", "evidence_length_auroc", "longer evidence"
    return _measure(
        options,
        _with_llm(options.settings.verifier, tier, **llm),
        tier,
        lambda verifier, progress: bench_sufficiency(data, verifier, limit, progress),
        lambda figures: _show_verifier(figures, *labels),
    )


def _with_llm(settings: VerifierSettings, tier: str | None, **llm: Any) -> VerifierSettings:
    if tier == "llm":
        return replace(settings, llm=_named(settings.llm, **llm))
    if any(llm.values()):
        raise click.UsageError("--llm, --model, --key-env and --ask require --tier llm.")
    return settings


def _named(
    settings: LlmSettings,
    llm: str | None,
    model: str | None,
    key_env: str | None,
    ask: Literal["band", "always"] | None,
) -> LlmSettings:
    """Apply the command line options. A configured API key is never sent to another URL."""
    if llm and llm != settings.url:
        settings = replace(settings, url=llm, model="", key_env="")
    return replace(
        settings,
        model=model or settings.model,
        key_env=key_env or settings.key_env,
        ask=ask or settings.ask,
    )


def _show_verifier(
    figures: Figures, good: str, length: str, guess: str
) -> Iterator[RenderableType]:
    """Each set with its tasks, then the pooled figures and the mean of the sets."""
    columns = {
        "n": "n",
        "share_positive": f"{good[:4]}.\nshare",
        "auroc": "AUROC",
        "balanced_accuracy": "bal.\nacc.",
        "accuracy": "acc.",
        "f1": "F1",
        "f1_flag_all": "F1\nflag\nall",
        length: "AUROC\nby\nlength",
        "coverage_at_5_risk": "served\nat 5 %\nrisk",
        "ece": "ECE",
        "ms_per_row": "ms",
    }
    table = sets_table(figures, columns, padding=1 if Console().width >= _WIDE else 0)
    table.add_row("mean of sets", *cells(figures["means"], columns))
    yield table
    yield from _verifier_notes(figures, good, guess)


def sets_table(figures: Figures, columns: Mapping[str, str], *, padding: int) -> Table:
    """A table with a row for each set and task, and a row for the pooled figures."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, padding, 0, 0))
    table.add_column("", min_width=10, overflow="ellipsis")
    for title in columns.values():
        table.add_column(title, justify="right", no_wrap=True)
    for name, row in lines(figures["sets"]):
        table.add_row(plain(name), *cells(row, columns))
    table.add_section()
    table.add_row("pooled", *cells(figures["pooled"], columns))
    return table


def lines(sets: Mapping[str, Figures]) -> Iterator[tuple[str, Figures]]:
    for name, row in sets.items():
        yield name, row
        for task, figures in row.get("tasks", {}).items():
            yield f"  {task}", figures


def cells(row: Figures, columns: Iterable[str]) -> Iterator[str]:
    """Format a row. An undefined figure is a dash, an absent figure an empty cell."""
    for name in columns:
        value = row.get(name)
        if value is None:
            yield "–" if name in row else ""
        elif name == "n":
            yield f"{value:,}"
        else:
            yield f"{value:.1f}" if name == "ms_per_row" else f"{value:.3f}"


def _verifier_notes(figures: Figures, good: str, guess: str) -> Iterator[str]:
    pooled = figures["pooled"]
    scored = f" · score: {figures['aggregation']}" if "aggregation" in figures else ""
    most = f" · at most {figures['limit']:,} rows of each set" if figures["limit"] else ""
    yield f"{figures['model']} ({figures['tier']}){most}"
    threshold = f"threshold {figures['threshold']:g}"
    yield f"{good}: {threshold}{scored} · pooled ECE {pooled['ece']:.3f}"
    yield f'F1 is for the class "not {good}"; AUROC by length ranks {guess} as more {good}.'
    if "llm" in figures:
        llm = figures["llm"]
        yield (
            f"LLM: {llm['calls']:,} calls, {llm['tokens']:,} tokens, {llm['seconds']:,.1f} s · "
            f"decided {llm['spoke']:.1%} of rows, fell back in {llm['fell_back']:.1%}"
        )
    if pooled["unchecked"]:
        counts = f"{pooled['unchecked']:,} of {pooled['checks']:,}"
        yield f"{counts} checks were inconclusive and counted as 0."


_MOST = 8
"""Number of kinds of objections to show; `--json` has all of them."""


@click.command()
@click.option(
    "--uncited", is_flag=True, help="The answers have no citations: check against all passages."
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    help="Only rows of this task, if rows have tasks (repeatable; default: qa and summary; all "
    "disables the filter).",
)
@bench_options
def answers(
    options: Options,
    data: Path,
    tier: str | None,
    limit: int | None,
    uncited: bool,
    tasks: tuple[str, ...],
) -> int:
    """Measure how well `check` detects unsupported answers in DATA.

    DATA rows are as in `bench grounding`, optionally with "spans": [[start, end, …], …] that mark
    unsupported text. Any verdict but SERVE counts as flagged; the verifier alone is the baseline.
    """
    from suffice.answers import open_checker
    from suffice.lab.eval.answers import TASKS, bench_answers

    settings, chosen = options.settings, () if "all" in tasks else tasks or TASKS

    def measure(verifier: Verifier, progress: Progress) -> Figures:
        opened = partial(open_checker, settings, uncited=uncited)
        return bench_answers(data, verifier, opened, limit, progress, tasks=chosen)

    return _measure(options, settings.verifier, tier, measure, _show_answers)


def _show_answers(figures: Figures) -> Iterator[RenderableType]:
    columns = {
        "n": "n",
        "share_positive": "supp.\nshare",
        "f1": "F1",
        "precision": "prec.",
        "recall": "recall",
        "balanced_accuracy": "bal.\nacc.",
        "span_f1": "span\nF1",
        "false_withhold": "false\nwithh.",
        "verifier_f1": "F1,\nverif.\nalone",
        "f1_flag_all": "F1,\nflag\nall",
        "ms_per_row": "ms",
    }
    yield sets_table(figures, columns, padding=1)
    yield _objections(figures["pooled"]["against"])
    yield from _answers_notes(figures)


def _objections(against: Mapping[str, Mapping[str, Figures]]) -> Table:
    """Count the answers each check objected to, by whether the answer is supported."""
    good, bad = against["supported"], against["not supported"]
    table = figures_table("answers with this objection", "supported", "not supported")
    names = dict.fromkeys((*good, *bad))
    ranked = sorted(names, key=lambda name: -_answers(good, name) - _answers(bad, name))
    for name in ranked[:_MOST]:
        table.add_row(name, str(_answers(good, name)), str(_answers(bad, name)))
    return table


def _answers(objections: Mapping[str, Figures], name: str) -> int:
    return int(objections[name]["answers"]) if name in objections else 0


def _answers_notes(figures: Figures) -> Iterator[str]:
    most = f" · at most {figures['limit']:,} rows of each set" if figures["limit"] else ""
    against = "all passages" if figures["uncited"] else "the passages they cite"
    yield f"{figures['model']} ({figures['tier']}) · answers checked against {against}{most}"
    yield 'F1 is for the class "not supported"; any verdict but SERVE counts as flagged. Span F1'
    yield "counts characters. False withholding: supported answers with verdict WITHHOLD or REVIEW."


@click.command()
@bench_options
def conflict(options: Options, data: Path, tier: str | None, limit: int | None) -> int:
    """Measure how well contradictions between documents in DATA are detected.

    DATA rows are {"set", "question", "documents": [{"text", "type", "answer"}, …]}; "type" is
    correct, misinfo or noise, and "answer" is the answer that the document gives. JSON lines,
    optionally gzipped.
    """
    from suffice.gate.conflict.detect import Conflicts
    from suffice.lab.eval.conflict import bench_conflict

    settings = options.settings

    def measure(verifier: Verifier, progress: Progress) -> Figures:
        return bench_conflict(data, Conflicts(verifier, settings.gate.conflict), limit, progress)

    return _measure(options, settings.verifier, tier, measure, _show_conflict)


def _show_conflict(figures: Figures) -> Iterator[RenderableType]:
    pairs = figures_table("pairs", "n", "positive", "AUROC", "precision", "recall")
    for name, row in {**figures["asked"], "all": figures["pairs"]}.items():
        columns = ("n", "positive", "auroc", "precision", "recall")
        pairs.add_row(name, *(number(row[column]) for column in columns))
    kinds = figures_table("documents", "n", "conflict", "ambiguous")
    for name, row in figures["pairs"]["kinds"].items():
        kinds.add_row(name, *(number(row[column]) for column in ("n", "conflict", "ambiguous")))
    yield from (pairs, kinds)
    yield from _conflict_notes(figures)


def _conflict_notes(figures: Figures) -> Iterator[str]:
    planted, clean = figures["planted"], figures["clean"]
    yield (
        f"A conflict is reported in {number(planted['share'])} of {planted['n']} questions with "
        f"planted misinformation,"
    )
    yield f"and in {number(clean['share'])} of the same questions without it."
    yield (
        f"{figures['model']}, threshold {figures['threshold']:g}; "
        f"{figures['ms_per_evidence']:.0f} ms per question."
    )


@click.group()
def bench() -> None:
    """Measure retrieval, verifiers, gates and checks on your data."""


for command in (answers, conflict, grounding, sufficiency, gate):
    bench.add_command(command)


@bench.command()
@click.argument("data", nargs=-1, required=True, type=click.Path(path_type=Path))
@shared("config", "as_json", "quiet")
def retrieval(options: Options, data: tuple[Path, ...]) -> int:
    """Measure search on your own documents and questions.

    DATA is one or more folders as for `suffice eval` (questions.jsonl with "quote", and docs/ or
    docs.tar.gz): at which place are the passages that hold the quotes? Or pairs of files, CORPUS
    {"id", "title"?, "text"} and QUERIES {"query", "relevant": {id: gain}}: nDCG@10, recall@100 and
    search times, which exclude embedding the query. JSON lines, optionally gzipped.
    """
    from suffice.lab.eval.retrieval import bench_places, bench_retrieval

    settings = options.settings
    folders = [path for path in data if path.is_dir()]
    files = [path for path in data if not path.is_dir()]
    if len(files) % 2:
        raise click.UsageError("Name folders, or files in pairs: CORPUS QUERIES.")
    with options.progress() as progress:
        places = [bench_places(folder, settings, progress) for folder in folders]
        ranked = [
            bench_retrieval(corpus, queries, settings, progress)
            for corpus, queries in zip(files[::2], files[1::2], strict=True)
        ]
    results = [*places, *ranked]
    print_figures(
        results[0] if len(results) == 1 else results,
        chain(_show_places(places), *map(_show_retrieval, ranked)),
        as_json=options.as_json,
    )
    return 0


def _show_places(results: Sequence[Figures]) -> Iterator[RenderableType]:
    """The share of questions whose needed passages are all among the first n."""
    if not results:
        return
    depths = next((list(one["recall"]) for one in results if one["questions"]), [])
    table = figures_table("", "n", *depths, "nDCG@10", "place")
    for figures in results:
        rows = {figures["data"]: figures, **figures["collections"], **figures["kinds"]}
        for name, row in rows.items():
            if row["questions"]:
                shares = (f"{100 * row['recall'][depth]:.0f}" for depth in depths)
                means = f"{row['ndcg@10']:.2f}", f"{row['mean_place']:.1f}"
                table.add_row(plain(name), str(row["questions"]), *shares, *means)
    yield "% of the questions whose passages are all among the first:"
    yield table
    for figures in results:
        for miss in figures["misses"]:
            place = miss["place"] or f"after {depths[-1]}"
            yield plain(f"{miss['collection']}, place {place}: {miss['question']}")
        for question in figures["unplaced"]:
            yield plain(f"not measured, its quote is in no passage: {question}")


def _show_retrieval(figures: Figures) -> Iterator[RenderableType]:
    table = figures_table("", "nDCG@10", "recall@100", "p50 ms", "p95 ms")
    for ranking in ("reranked", "hybrid", "bm25", "dense"):
        if row := figures.get(ranking):
            gains = f"{row['ndcg@10']:.3f}", f"{row['recall@100']:.3f}"
            table.add_row(ranking, *gains, f"{row['p50_ms']:.1f}", f"{row['p95_ms']:.1f}")
    yield table
    embedding = figures["query_embedding"]
    yield (
        f"{figures['passages']:,} passages, {figures['queries']:,} queries; "
        f"embedding a query takes an additional {embedding['p50_ms']:.1f} ms (p50)."
    )
