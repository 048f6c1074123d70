"""The tables of the benches of quality."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.pages.tables import TIERS, Figures, cores, head, line, result, share


def judged(bench: str, by_length: str) -> Iterator[str]:
    """A table for each tier that was measured: the sets with their tasks, then all of them."""
    columns = {
        "n": "n",
        "share_positive": "share positive",
        "auroc": "AUROC",
        "balanced_accuracy": "balanced accuracy",
        "accuracy": "accuracy",
        "f1": "F1",
        "f1_flag_all": "F1, all flagged",
        by_length: "AUROC by length",
        "coverage_at_5_risk": "coverage at 5 % risk",
        "ece": "ECE",
        "ms_per_row": "ms",
    }
    for tier in TIERS:
        results = result(f"{bench}-{tier}")
        if not results:
            continue
        score = f"; score: {results['aggregation']}" if "aggregation" in results else ""
        yield f"**{tier}** (`docs/results/{bench}-{tier}.json`):"
        how = f"threshold {results['threshold']:g}{score}; {_measured(results)}"
        yield f"{results['model']}; {how}.\n"
        yield from head("set", *columns.values())
        for name, row in _judged_rows(results):
            yield line(name, *(_cell(row, column) for column in columns))
        yield ""


def _measured(results: Figures) -> str:
    """On which rows, and by what."""
    if "parity" in results:
        parity = results["parity"]
        return (
            f"{results['scored']}; on {parity['pairs']} pairs the shipped file differs by "
            f"{parity['mean']:.3f} a probability, {parity['flips']} decisions flip"
        )
    rows = f"{results['limit']} rows of each set" if results.get("limit") else "all rows"
    return f"{rows}, through the command line, {cores(results)}"


def _judged_rows(results: Figures) -> Iterator[tuple[str, Figures]]:
    for name, row in results["sets"].items():
        yield name, row
        for task, figures in row.get("tasks", {}).items():
            yield f"{name}, {task}", figures
    yield "pooled", results["pooled"]
    yield "mean of sets", results["means"]


def _cell(row: Figures, column: str) -> str:
    """A dash where a figure is undefined; nothing where there is none."""
    value = row.get(column)
    if value is None:
        return "–" if column in row else ""
    return f"{value:,}" if column == "n" else f"{value:.{1 if column == 'ms_per_row' else 3}f}"


def gate() -> Iterator[str]:
    results = result("gate-fast")
    names = list(results["policies"]["learned"]["sets"])
    yield from head("policy", *(f"{name}: AUROC / AURC" for name in names), "mean AURC", "open")
    for policy, found in results["policies"].items():
        cells = (f"{row['auroc']:.3f} / {row['aurc']:.3f}" for row in found["sets"].values())
        means = found["means"]
        yield line(policy, *cells, f"{means['aurc']:.3f}", f"{means['open_rate']:.2f}")
    worse = [
        f"{policy} on {name}"
        for policy, found in results["policies"].items()
        for name, row in found["sets"].items()
        if policy != "learned" and row["learned_minus"]["low"] > 0
    ]
    yield f"\nSurely better than the learned policy: {', '.join(worse) or 'none, on no set'}."
    yield f"Fast tier, {results['limit']} rows a set, from `docs/results/gate-fast.json`.\n"
    yield "![Risk against coverage](results/gate-risk-coverage.svg)"


def answers() -> Iterator[str]:
    results = result("answers-fast")
    yield from head(
        "RAGTruth",
        "n",
        "F1",
        "precision",
        "recall",
        "verifier alone, F1",
        "span F1",
        "false withhold",
    )
    columns = ("f1", "precision", "recall", "verifier_f1", "span_f1", "false_withhold")
    for name, row in results["sets"]["ragtruth"]["tasks"].items():
        yield line(name, str(row["n"]), *(f"{row[column]:.3f}" for column in columns))
    made = f"{results['model']}, dev, uncited, {results['limit']} rows"
    yield f"\n{made}, from `docs/results/answers-fast.json`."


def conflict() -> Iterator[str]:
    results = result("conflict")
    if not results:
        return
    rows = f"{results['limit']} rows" if results["limit"] else "all rows"
    planted, clean = results["planted"], results["clean"]
    yield from head("pairs, by what is asked for", "n", "positive", "AUROC", "precision", "recall")
    for name, row in {**results["asked"], "all": results["pairs"]}.items():
        counts = (f"{row[column]:,}" for column in ("n", "positive"))
        yield line(name, *counts, *(_cell(row, name) for name in ("auroc", "precision", "recall")))
    yield ""
    yield from head("documents", "n", "conflict", "ambiguous")
    for name, row in results["pairs"]["kinds"].items():
        yield line(name, f"{row['n']:,}", _cell(row, "conflict"), _cell(row, "ambiguous"))
    yield ""
    yield (
        f"A conflict is reported in {planted['share']:.3f} of {planted['n']} questions with "
        f"planted misinformation, and in {clean['share']:.3f} of the same questions without it."
    )
    yield (
        f"{results['model']}; RAMDocs dev, {rows}; {results['ms_per_evidence']:.0f} ms an "
        f"evidence, {cores(results)}, from `docs/results/conflict.json`."
    )


def written() -> Iterator[str]:
    """The tiers on written cases and real documents, beside what is told without evidence."""
    tiers = {tier: result(f"written-{tier}").get("sets", {}) for tier in TIERS}
    if not tiers["fast"]:
        return
    yield from head("set", "n", "AUROC, no evidence", *(f"AUROC {t}" for t in tiers), "told apart")
    for name, row in tiers["fast"].items():
        if "auroc" in row:
            yield line(
                name,
                f"{row['n']:,}",
                share(row.get("auroc_without_evidence")),
                *(share(sets[name]["auroc"]) for sets in tiers.values()),
                share(row.get("told_apart")),
            )
    for question in ("support", "sufficiency"):
        both = ", ".join(f"{t} {sets[f'{question}, all']['ece']:.3f}" for t, sets in tiers.items())
        yield f"\nExpected calibration error of {question} over these sets: {both}."
    yield "\nWrong answers by kind of error, AUROC against the right ones:\n"
    yield from head("kind", *tiers)
    for kind in tiers["fast"]["written answers"]["kinds"]:
        found = (sets["written answers"]["kinds"][kind] for sets in tiers.values())
        yield line(kind, *map(share, found))


def retrieval() -> Iterator[str]:
    results = result("retrieval-scifact")
    yield "| | nDCG@10 | recall@100 | p50 ms | p95 ms |\n|---|---|---|---|---|"
    for way in ("hybrid", "bm25", "dense"):
        row = results[way]
        yield (
            f"| {way} | {row['ndcg@10']:.3f} | {row['recall@100']:.3f} "
            f"| {row['p50_ms']:.1f} | {row['p95_ms']:.1f} |"
        )
    yield ""
    yield f"{results['passages']:,} passages, {results['queries']} queries."
