"""Writes the generated parts of docs/: the command line from its own help, the settings from the
code, the figures from results/. A test fails when a page is not what this command would write.

Run: .venv/bin/python scripts/docs.py
"""

from __future__ import annotations

import json
import typing
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from suffice.cli import cli
from suffice.models.card import read_card
from suffice.models.catalog import EMBEDDERS, weights
from suffice.server.json_schema import Schema
from suffice.server.openapi_schemas import SCHEMAS
from suffice.settings import CollectionSettings, RouteSettings, Settings, UpstreamSettings
from suffice.settings.limits import ABOUT
from suffice.settings.webhooks import WebhookSettings

DOCS = Path(__file__).parent.parent / "docs"
RESULTS = DOCS.parent / "results"
BEGIN, END = "<!-- generated: {} -->", "<!-- end -->"
TIERS = ("fast", "strong")
Figures = Mapping[str, Any]


def main() -> None:
    for name, text in pages().items():
        place(name).write_text(text, encoding="utf-8")


def place(name: str) -> Path:
    outside = name == "README.md" or name.startswith(("docs/", "examples/"))
    return DOCS.parent / name if outside else DOCS / name


def pages() -> dict[str, str]:
    """Every page that has a generated part, as it should be."""
    parts = {
        "headline": ("README.md", "\n".join(headline("#how-good-it-is"))),
        "start": ("docs/README.md", "\n".join(headline("quality.md"))),
        "quality": ("README.md", "\n".join(quality())),
        "real": ("quality.md", "\n".join(quality())),
        "commands": ("reference/cli.md", "\n".join(commands())),
        "keys": ("reference/settings.md", "\n".join(keys())),
        "embedder": ("reference/models.md", "\n".join(embedder())),
        "retrieval": ("quality.md", "\n".join(retrieval())),
        "indexing": ("quality.md", "\n".join(indexing())),
        "grounding": ("quality.md", "\n".join(judged("grounding", "length_auroc"))),
        "sufficiency": ("quality.md", "\n".join(judged("sufficiency", "evidence_length_auroc"))),
        "gate": ("quality.md", "\n".join(gate())),
        "conflict": ("quality.md", "\n".join(conflict())),
        "answers": ("quality.md", "\n".join(answers())),
        "speed": ("quality.md", "\n".join(speed())),
        "record": ("quality.md", "\n".join(record())),
        "gateway": ("quality.md", "\n".join(gateway())),
        "soak": ("quality.md", "\n".join(soak())),
        "schemas": ("reference/schemas.md", "\n".join(schemas())),
        "written": ("reference/models.md", "\n".join(written())),
        "cautious": ("examples/cautious/README.md", "\n".join(cautious())),
        "redteam": ("how-to/red-team.md", "\n".join(redteam())),
        "calibration": ("how-to/guarantee.md", "\n".join(calibration())),
        "rules": ("quality.md", "\n".join(rules())),
        "limits": ("limits.md", "\n".join(limits())),
        "own figures": ("comparison.md", "\n".join(own_figures())),
        "scale cost": ("how-to/scale.md", "\n".join(scale_cost())),
        "scale queue": ("how-to/scale.md", "\n".join(scale_queue())),
        "cost": ("how-to/scale.md", "\n".join(cost())),
        "peers speed": ("peers.md", "\n".join(peers_speed())),
        "peers quality": ("peers.md", "\n".join(peers_quality())),
        "peers published": ("peers.md", "\n".join(peers_published())),
        "peers proxy": ("peers.md", "\n".join(peers_proxy())),
    }
    found: dict[str, str] = {}
    for part, (name, text) in parts.items():
        page = found.get(name) or place(name).read_text(encoding="utf-8")
        begin = BEGIN.format(part)
        head, _, rest = page.partition(begin)
        _, _, tail = rest.partition(END)
        body = f"\n{text.strip()}\n\n" if text else ""
        found[name] = f"{head}{begin}\n{body}{END}{tail}"
    return found


def calibration() -> Iterator[str]:
    """How often simulated certificates break their promise, beside other methods."""
    found = _result("calibration")
    if not found:
        return
    rates = ("certified", "broken", "served")
    yield from _head("limit, δ, labels", "method", "runs", *rates)
    for case in found["cases"]:
        asked = f"{case['alpha']:g}, {case['delta']:g}, {case['n']}"
        for name, own in case["methods"].items():
            method = f"{name} ({found['mapie']})" if name.startswith("MAPIE") else name
            yield _line(asked, method, str(own["runs"]), *(f"{own[one]:.1%}" for one in rates))


def scale_cost() -> Iterator[str]:
    """Core hours of a million answers, and the machines for two rates."""
    found = _result("scale")
    measured, assumed = found["measured"], found["assumed"]
    seconds = measured["cores"] / measured["per_s"]
    yield (
        f"One machine with {measured['cores']} cores checks {measured['per_s']} requests a second, "
        f"so a request takes {seconds:.2f} seconds of one core. Assumed: {assumed['price']} "
        f"dollars for a core hour, and machines that are {assumed['busy']:.0%} busy at the "
        f"peak. One log chain takes {measured['chain_per_s']} records a second, of "
        f"{measured['record_bytes'] / 1000:.1f} kB each."
    )
    yield ""
    yield from _head("a million answers", "core hours", "dollars")
    for tier, cost in found["million"].items():
        yield _line(f"{tier} tier", f"{cost['core_hours']:,}", f"{cost['dollars']:.2f}")
    yield ""
    names = ("cores", "machines of 16 cores", "load of one log chain", "log chains", "log a day")
    yield from _head("requests a second", *names)
    for row in found["rates"]:
        yield _line(
            f"{row['rate']:,}", f"{row['cores']:,}", f"{row['machines']:,}",
            f"{row['chain_load']:.0%}", str(row["chains"]), f"{row['log_gb_a_day']:,} GB",
        )  # fmt: skip


def scale_queue() -> Iterator[str]:
    """Response times of the simulated queue."""
    found = _result("scale")
    machines = [name for name in found["queue"][0] if name != "load"]
    labels = [f"{name} machine{'s' if name != '1' else ''}: p50, p95" for name in machines]
    yield from _head("load", *labels, "refused by one machine")
    for row in found["queue"]:
        times = [f"{row[name]['p50']:.1f}, {row[name]['p95']:.1f}" for name in machines]
        yield _line(f"{row['load']:.0%}", *times, f"{row['1']['refused']:.1%}")
    over = found["overload"]
    yield ""
    yield (
        f"At a load of {over['load']:.0%}, the simulation refuses {over['refused']:.0%}; the "
        f"gateway refused {over['refused_measured']:.0%} in the overload run of "
        "`results/gateway.json`."
    )


def cost(found: Figures | None = None) -> Iterator[str]:
    """How each cost grows, as multiples of the smallest size of its series."""
    found = _result("cost") if found is None else found
    if not found:
        return
    yield from _head("by", "measured", "size: times the smallest", "grows with the power")
    for series in found["series"].values():
        points = ", ".join(f"{one['size']:,}: {one['ratio']:g}" for one in series["points"])
        size = f"{series['title'].lower()} ({series['size']})"
        yield _line(size, series["value"], points, f"{series['exponent']:.2f}")
    if index := found["series"].get("index"):
        sizes = (
            f"{one['memory_mb']:,} MB of memory and {one['disk_mb']:,} MB of disk for "
            f"{one['size']:,} passages"
            for one in index["points"]
        )
        yield f"\nA process that searches the index takes {', '.join(sizes)}."
    if workers := found["series"].get("workers"):
        had = " and ".join(f"{one['cores']:g}" for one in workers["points"])
        yield f"The workers had {had} cores: fewer than workers means that the machine was busy."
    loads = [series["load"] for series in found["series"].values()]
    yield (
        f"{found['model']}, {_cores(found)}, load average {min(loads):g} to {max(loads):g}, from "
        "`results/cost.json`.\n"
    )
    yield "![How cost grows](../images/cost.svg)"


def peers_speed(found: Figures | None = None) -> Iterator[str]:
    """The time of other detectors as multiples of the fast tier's."""
    found = _result("peers") if found is None else found
    speed = found.get("speed")
    if not speed:
        return
    names = ("precision", "calls an answer", "tokens a call", "time", "over the rounds")
    yield from _head("detector", *names)
    for row in speed["detectors"]:
        peer = "model" in row
        yield _line(
            f"{row['name']}: {row['model']}" if peer else row["name"],
            row["precision"] if peer else "as shipped",
            f"{row['calls']:g}" if peer else "",
            f"{row['tokens']:,}" if peer else "",
            f"{row['ratio']:.2f}",
            f"{row['low']:.2f} to {row['high']:.2f}",
        )
    before, after = speed["load"]
    yield (
        f"\n{speed['answers']} answers, {speed['rounds']} rounds, {_cores(found)}, load average "
        f"{before:g} before and {after:g} after; {found['model']}, from `results/peers.json`."
    )


def peers_quality(found: Figures | None = None) -> Iterator[str]:
    """Detectors on the same rows: AUROC, F1 and balanced accuracy of each set and task."""
    found = _result("peers") if found is None else found
    if "quality" not in found:
        return
    groups: dict[str, Figures] = {}
    for name, own in found["quality"].items():
        groups[name] = own
        groups |= {f"{name}, {task}": one for task, one in own.get("tasks", {}).items()}
    yield from _head("detector", *(f"{name} ({own['n']})" for name, own in groups.items()))
    first = next(iter(groups.values()))["detectors"]
    columns = ("auroc", "f1", "balanced_accuracy")
    for detector in first:
        rows = [own["detectors"][detector] for own in groups.values()]
        yield _line(detector, *(" / ".join(_cell(row, one) for one in columns) for row in rows))
    yield ""
    yield "AUROC of the fast tier minus that of the detector, 95 % interval:\n"
    yield from _head("detector", *groups)
    for detector, row in first.items():
        if row["auroc_behind"]:
            rows = [own["detectors"][detector]["auroc_behind"] for own in groups.values()]
            yield _line(detector, *(f"{low:+.2f} to {high:+.2f}" for low, high in rows))
    yield (
        f"\n{found['model']} and {found['embedder']}; score: {found['aggregation']}; from "
        "`results/peers.json`."
    )


def peers_published(found: Figures | None = None) -> Iterator[str]:
    """What the authors of other detectors report."""
    found = _result("peers") if found is None else found
    if not found:
        return
    columns = {
        "f1": "F1",
        "f1_qa": "F1, qa",
        "f1_summary": "F1, summary",
        "balanced_accuracy_qa": "balanced accuracy, qa",
        "balanced_accuracy_summary": "balanced accuracy, summary",
    }
    names = ("trained on RAGTruth", *columns.values(), "source")
    yield from _head("published, not run here", *names)
    for row in found["published"]:
        figures = (_share(row[one]) for one in columns)
        yield _line(row["name"], "yes" if row["trained"] else "no", *figures, row["source"])


def peers_proxy(found: Figures | None = None) -> Iterator[str]:
    """The gateway without checks beside LiteLLM's proxy."""
    found = _result("peers") if found is None else found
    for way, row in (found.get("proxy") or {}).items():
        yield (
            f"- {way}: {row['throughput_times']:.1f} times the throughput, "
            f"{row['added_share']:.2f} of the added latency"
        )


def _result(name: str) -> dict[str, Any]:
    """What a bench left in results/; empty where it has not run."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def headline(figures: str) -> Iterator[str]:
    """Language, quality and speed in three lines, for the first screen.

    `figures` is a link to more.
    """
    found, speed = _result("rules-real"), _result("speed")
    answerable = _outcome_shares(found["outcomes"], "answerable: ")
    others = _outcome_shares(found["outcomes"], "unanswerable: ")
    wrong = _outcome_shares(found["outcomes"], "wrong draft: ")
    seconds = speed["fast_ms"] / 1000
    yield "- **English only.** Text in another language is not judged and never counts as backed."
    right, bad = answerable["right"], answerable["wrong"]
    yield (
        f"- **How good:** on real documents it was not trained on, it answers {right:.0%} of the "
        f"answerable questions right, {bad:.0%} wrong and refuses the rest; it answers "
        f"{others['served']:.0%} of the unanswerable ones, and stops {1 - wrong['served']:.0%} of "
        f"an LLM's wrong drafts ([all figures]({figures}))."
    )
    yield (
        f"- **How fast:** {seconds:.1f} s for the verifier to judge five sentences against five passages on "
        f"{_cores(speed)}, without a GPU."
    )


def quality() -> Iterator[str]:
    """How good the whole path is on real documents, for the first page."""
    found, speed = _result("rules-real"), _result("speed")
    outcomes = found["outcomes"]
    answerable = _outcome_shares(outcomes, "answerable: ")
    others = _outcome_shares(outcomes, "unanswerable: ")
    right, wrong = (
        _outcome_shares(outcomes, "right draft: "),
        _outcome_shares(outcomes, "wrong draft: "),
    )
    yield "| on real documents that were not trained on | |\n|---|---|"
    yield f"| answerable questions answered right | {answerable['right']:.0%} |"
    yield f"| answerable questions answered wrong | {answerable['wrong']:.0%} |"
    yield f"| unanswerable questions answered | {others['served']:.0%} |"
    for label in ("SERVE", "CAVEAT"):
        right_share = found["precision"][label]["right"]
        yield f"| answers labelled {label} that are right | {right_share:.0%} |"
    yield f"| right drafts of an LLM that are released | {right['served']:.0%} |"
    yield f"| wrong drafts of an LLM that are stopped | {1 - wrong['served']:.0%} |"
    times = 1 / speed["deberta_ratio"]
    yield f"| speed: times faster than one DeBERTa-base call per claim and passage | {times:.0f} |"
    yield ""
    yield (
        f"Measured with the fast tier on {found['questions']} questions and {found['drafts']} "
        "drafts. Thresholds were chosen on these sets: expect somewhat less on yours."
    )


def limits() -> Iterator[str]:
    """Where the system is weakest, in figures."""
    outcomes, attacks = _result("rules-real")["outcomes"], _result("redteam")["attacks"]
    drafts = _outcome_shares(outcomes, "wrong draft: ")
    kinds = _result("written-fast")["sets"]["written answers"]["kinds"]
    several = _result("sufficiency-fast")["sets"]["ud_musique"]
    conflicts = _result("conflict")["pairs"]
    weakest = ", ".join(f"{kind} {kinds[kind]:.2f}" for kind in sorted(kinds, key=kinds.get)[:4])
    yield from _head("weakness", "measured", "results/")
    for limit, figure, file in (
        ("an LLM's wrong draft is released", f"{drafts['served']:.0%} of them", "rules-real"),
        (
            "an unanswerable question is answered",
            f"{_outcome_shares(outcomes, 'unanswerable: ')['served']:.0%} of them",
            "rules-real",
        ),
        (
            "the subject of one document is joined to the predicate of another",
            f"stopped in {attacks['synthesis']['right_share']:.0%} of the cases",
            "redteam",
        ),
        (
            "a condition is left out",
            f"stopped in {attacks['dropped-condition']['right_share']:.0%} of the cases",
            "redteam",
        ),
        (
            "an answer needs several passages",
            f"balanced accuracy {several['balanced_accuracy']:.2f} (0.5 is chance)",
            "sufficiency-fast",
        ),
        (
            "two documents contradict each other",
            f"{conflicts['recall']:.0%} found, {conflicts['precision']:.0%} of the reports right",
            "conflict",
        ),
        ("the hardest kinds of wrong answers", f"AUROC: {weakest}", "written-fast"),
    ):
        yield _line(limit, figure, f"`{file}.json`")


def own_figures() -> Iterator[str]:
    """The figures that other projects publish for their detectors, measured for the fast tier."""
    ragtruth, speed = _result("grounding-fast")["sets"]["ragtruth"], _result("speed")
    yield (
        f"Suffice's fast tier by itself: F1 {ragtruth['f1']:.2f} for unsupported answers on "
        f"{ragtruth['n']:,} development rows of RAGTruth, {ragtruth['f1_flag_all']:.2f} if every "
        f"answer is flagged. Speed on {_cores(speed)}, five sentences against five passages: "
        f"{speed['fast_ms'] / 1000:.1f} s; one pass of a model of LettuceDetect-base's shape takes "
        f"{1 / speed['modernbert_ratio']:.1f} times as long."
    )


def _outcome_shares(outcomes: Figures, prefix: str) -> Mapping[str, float]:
    own = {k.removeprefix(prefix): n for k, n in outcomes.items() if k.startswith(prefix)}
    return defaultdict(float, {name: n / sum(own.values()) for name, n in own.items()})


def commands() -> Iterator[str]:
    context = click.Context(cli, info_name="suffice", **cli.context_settings)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        yield from _help(command, click.Context(command, info_name=name, parent=context))


def _help(command: click.Command, context: click.Context) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _help(inner, click.Context(inner, info_name=name, parent=context))
        return
    context.max_content_width = 90
    yield f"### `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```\n"


def keys() -> Iterator[str]:
    yield from _head("key", "default", "allowed", "meaning")
    yield from _keys(Settings(), "")


def _keys(value: Any, where: str) -> Iterator[str]:
    hints = typing.get_type_hints(type(value), include_extras=True)
    for field in fields(value):
        key, entry = f"{where}{field.name}", getattr(value, field.name)
        about = field.metadata.get(ABOUT, "")
        if is_dataclass(entry):
            yield from _keys(entry, f"{key}.")
        elif field.name == "collections":
            own = ", ".join(f"`{one.name}`" for one in fields(CollectionSettings))
            yield _line(f"`{key}.NAME`", "", own, about)
        elif field.name == "routes" and isinstance(entry, Mapping):
            yield from _keys(RouteSettings(), f"{key}.NAME.")
        elif field.name == "webhooks":
            yield from _keys(WebhookSettings(), f"{key}.NAME.")
        elif field.name == "upstreams":
            yield from _keys(UpstreamSettings(), f"{key}.NAME.")
        elif field.name == "own":
            own = ", ".join(f"`{one.name}`" for one in fields(CollectionSettings))
            yield _line(f"`{where}…`", "", own, about)
        else:
            yield _line(f"`{key}`", f"`{entry!r}`", _allowed(hints[field.name]), about)


def _allowed(hint: Any) -> str:
    if typing.get_origin(hint) is Annotated:
        return ", ".join(map(str, typing.get_args(hint)[1:]))
    if typing.get_origin(hint) is Literal:
        return ", ".join(f"`{value}`" for value in typing.get_args(hint))
    if hint == Mapping[str, tuple[str, ...]]:
        return "names to lists of names"
    if hint == Mapping[str, str]:
        return "a mapping of names to names"
    return {str: "text", bool: "true or false", tuple[str, ...]: "a list of texts"}[hint]


def embedder() -> Iterator[str]:
    card = read_card(weights(EMBEDDERS[0])).raw
    for name, row in card["measured"]["cosine_to_fp32"].items():
        figures = f"mean {row['mean']}, least {row['min']}"
        yield f"- cosine to fp32 on {name} ({row['texts']} texts): {figures}"
    yield ""
    results = _result("embedder")
    yield "| variant | MB | time, 128 tokens | cosine to fp32, mean / min | batch difference |"
    yield "|---|---|---|---|---|"
    for row in results["variants"]:
        time, difference = row["time_to_fp32_fused"]["1x128"], row["invariance_max_diff"]
        yield (
            f"| {row['variant']} | {row['bytes'] / 1e6:.1f} | {time:.2f} "
            f"| {row['cosine_mean']:.4f} / {row['cosine_min']:.4f} | {difference:.1g} |"
        )


def indexing() -> Iterator[str]:
    results = _result("indexing")
    yield (
        f"400 SciFact abstracts as files, {results['passages']:,} passages, two ARM cores "
        f"(`results/indexing.json`): ratio {results['ratio']:.2f}, peak memory "
        f"{results['peak_memory_mb']} MB."
    )


def soak() -> Iterator[str]:
    """What the soak counted; nothing where it has not run."""
    results = _result("soak")
    if found := results.get("faults"):
        yield (
            f"- {found['requests']:,} requests over {found['kinds']} kinds of upstream fault, "
            f"{found['combinations']} combinations of fault, mode and streaming: "
            f"{found['unchecked']} unchecked texts in the replies."
        )
    for name, store in (("kills_sqlite", "SQLite"), ("kills_postgresql", "PostgreSQL")):
        if found := results.get(name):
            chain = "verifies" if found["chain"] else "is broken"
            yield (
                f"- {found['kills']} times `kill -9` under load on {store}: "
                f"{found['acknowledged']:,} records acknowledged, {found['lost']} lost; the chain "
                f"{chain}."
            )


def retrieval() -> Iterator[str]:
    results = _result("retrieval-scifact")
    yield "| | nDCG@10 | recall@100 | p50 ms | p95 ms |\n|---|---|---|---|---|"
    for way in ("hybrid", "bm25", "dense"):
        row = results[way]
        yield (
            f"| {way} | {row['ndcg@10']:.3f} | {row['recall@100']:.3f} "
            f"| {row['p50_ms']:.1f} | {row['p95_ms']:.1f} |"
        )
    yield ""
    yield f"{results['passages']:,} passages, {results['queries']} queries."


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
        results = _result(f"{bench}-{tier}")
        if not results:
            continue
        score = f"; score: {results['aggregation']}" if "aggregation" in results else ""
        yield f"**{tier}** (`results/{bench}-{tier}.json`):"
        how = f"threshold {results['threshold']:g}{score}; {_measured(results)}"
        yield f"{results['model']}; {how}.\n"
        yield from _head("set", *columns.values())
        for name, row in _judged_rows(results):
            yield _line(name, *(_cell(row, column) for column in columns))
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
    return f"{rows}, through the command line, {_cores(results)}"


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
    results = _result("gate-fast")
    names = list(results["policies"]["learned"]["sets"])
    yield from _head("policy", *(f"{name}: AUROC / AURC" for name in names), "mean AURC", "open")
    for policy, found in results["policies"].items():
        cells = (f"{row['auroc']:.3f} / {row['aurc']:.3f}" for row in found["sets"].values())
        means = found["means"]
        yield _line(policy, *cells, f"{means['aurc']:.3f}", f"{means['open_rate']:.2f}")
    worse = [
        f"{policy} on {name}"
        for policy, found in results["policies"].items()
        for name, row in found["sets"].items()
        if policy != "learned" and row["learned_minus"]["low"] > 0
    ]
    yield f"\nSurely better than the learned policy: {', '.join(worse) or 'none, on no set'}."
    yield f"Fast tier, {results['limit']} rows a set, from `results/gate-fast.json`.\n"
    yield "![Risk against coverage](../results/gate-risk-coverage.svg)"


def answers() -> Iterator[str]:
    results = _result("answers-fast")
    yield from _head(
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
        yield _line(name, str(row["n"]), *(f"{row[column]:.3f}" for column in columns))
    made = f"{results['model']}, dev, uncited, {results['limit']} rows"
    yield f"\n{made}, from `results/answers-fast.json`."


def conflict() -> Iterator[str]:
    results = _result("conflict")
    if not results:
        return
    rows = f"{results['limit']} rows" if results["limit"] else "all rows"
    planted, clean = results["planted"], results["clean"]
    yield from _head("pairs, by what is asked for", "n", "positive", "AUROC", "precision", "recall")
    for name, row in {**results["asked"], "all": results["pairs"]}.items():
        counts = (f"{row[column]:,}" for column in ("n", "positive"))
        yield _line(name, *counts, *(_cell(row, name) for name in ("auroc", "precision", "recall")))
    yield ""
    yield from _head("documents", "n", "conflict", "ambiguous")
    for name, row in results["pairs"]["kinds"].items():
        yield _line(name, f"{row['n']:,}", _cell(row, "conflict"), _cell(row, "ambiguous"))
    yield ""
    yield (
        f"A conflict is reported in {planted['share']:.3f} of {planted['n']} questions with "
        f"planted misinformation, and in {clean['share']:.3f} of the same questions without it."
    )
    yield (
        f"{results['model']}; RAMDocs dev, {rows}; {results['ms_per_evidence']:.0f} ms an "
        f"evidence, {_cores(results)}, from `results/conflict.json`."
    )


def speed() -> Iterator[str]:
    results = _result("speed")
    if not results:
        return
    wanted, growth = results["wanted"], results["growth"]
    yield from _head("5 sentences, 5 passages of 200 words", "ms", "times the fast tier", "wanted")
    yield _line("fast tier", f"{results['fast_ms']:,.0f}", "1", "")
    for name, ms, ratio in (
        ("25 calls of a DeBERTa-v3-base", "deberta_25_calls_ms", "deberta_ratio"),
        ("one pass of a ModernBERT-base", "modernbert_pass_ms", "modernbert_ratio"),
    ):
        times, least = f"{1 / results[ratio]:.1f}", f"{1 / wanted[ratio]:.0f} or more"
        yield _line(name, f"{results[ms]:,.0f}", times, least)
    if "strong_ms" in results:
        times, most = (
            f"{results['strong_times_fast']:.1f}",
            f"{wanted['strong_times_fast']} or less",
        )
        yield _line("strong tier", f"{results['strong_ms']:,.0f}", times, most)
    yield ""
    yield from _head("passages", *growth["passages"])
    yield _line("fast tier, ms", *(f"{ms:,.0f}" for ms in growth["passages"].values()))
    yield ""
    exponent, memory = growth["exponent"], results["memory_mb"]
    most = wanted["exponent"]
    yield f"Time grows with evidence to the power {exponent:.2f} ({most} or less wanted)."
    if memory is not None:
        yield f"Peak memory of a fresh process: {memory} MB (under {wanted['memory_mb']} wanted)."
    yield f"{results['model']}, {_cores(results)}, from `results/speed.json`."


def gateway() -> Iterator[str]:
    results = _result("gateway")
    for way, label in (("whole", "not streamed"), ("stream", "streamed")):
        if "plain" not in results:
            return
        row = results["plain"][f"{way}_compared"]
        beside = ""
        if "litellm_per_s" in row:
            beside = (
                f"; LiteLLM {row['litellm_per_s']:,} and {row['litellm_added_ms']} ms: "
                f"{row['throughput_times']} times the throughput, {row['added_share']} of the "
                "latency"
            )
        yield f"- plain, {label}: {row['per_s']:,} a second, {row['added_ms']} ms added{beside}"
    row = results["checked"]
    yield (
        f"- checked: {row['per_s']} a second, {row['share_of_bare']} of what the bare models allow;"
        f" p95 {row['p95_ms']:,} ms, {row['p95_times_fair']} times clients/throughput; statuses "
        f"{row['statuses']}"
    )
    row = results["overload"]
    yield (
        f"- overload: {row['rate']} a second for {row['seconds']:.0f} s, statuses "
        f"{row['statuses']}, unchecked {row['unchecked']}, memory at most "
        f"{row['memory_mb']['peak']} MB"
    )
    if health := row.get("healthz"):  # older runs have no hostile requests
        hostile = sum(sum(found.values()) for found in row["hostile"].values())
        yield (
            f"- hostile requests beside them: {hostile}, server errors other than 503: "
            f"{row['server_errors']}, memory growth {row['memory_mb']['growth_percent']} %, "
            f"`/healthz` p50 {health['p50_ms']} ms, p99 {health['p99_ms']} ms, at most "
            f"{health['max_ms']} ms"
        )


def record() -> Iterator[str]:
    results = _result("record")
    if not results:
        return
    wanted, page = results["wanted"], results["page"]
    size = f"{results['record_bytes']:,} bytes a record"
    yield from _head(f"{results['writers']} writers, {size}", "SQLite", "PostgreSQL", "wanted")
    both = [results["sqlite"], results.get("postgresql", {})]
    least = f"{wanted['sqlite_append_per_s']:,} and {wanted['postgresql_append_per_s']:,}"
    for label, name, goal in (
        ("appended a second", "append_per_s", f"{least}, or half of the next"),
        ("its own inserts, in groups as large", "bare_per_s", ""),
        ("its own inserts, one by one", "bare_one_by_one_per_s", ""),
        ("records in a group", "group", ""),
        ("processor time of an append, µs", "append_cpu_us", ""),
        ("cores the writers had", "append_cores", ""),
        ("verified a second", "verify_per_s", f"{wanted['verify_per_s']:,}"),
    ):
        yield _line(label, *(f"{row[name]:,}" if row else "–" for row in both), goal)
    yield ""
    yield (
        f"First page of {page['few']:,} records: {page['few_ms']} ms; of {page['many']:,}: "
        f"{page['many_ms']} ms, {page['times']} times that ({wanted['page_times']} or less). "
        f"To make a record of a verdict takes another {results['making_us']} µs."
    )
    yield f"{_cores(results)}, from `results/record.json`."


def written() -> Iterator[str]:
    """The tiers on written cases and real documents, beside what is told without evidence."""
    tiers = {tier: _result(f"written-{tier}").get("sets", {}) for tier in TIERS}
    if not tiers["fast"]:
        return
    yield from _head("set", "n", "AUROC, no evidence", *(f"AUROC {t}" for t in tiers), "told apart")
    for name, row in tiers["fast"].items():
        if "auroc" in row:
            yield _line(
                name,
                f"{row['n']:,}",
                _share(row.get("auroc_without_evidence")),
                *(_share(sets[name]["auroc"]) for sets in tiers.values()),
                _share(row.get("told_apart")),
            )
    for question in ("support", "sufficiency"):
        both = ", ".join(f"{t} {sets[f'{question}, all']['ece']:.3f}" for t, sets in tiers.items())
        yield f"\nExpected calibration error of {question} over these sets: {both}."
    yield "\nWrong answers by kind of error, AUROC against the right ones:\n"
    yield from _head("kind", *tiers)
    for kind in tiers["fast"]["written answers"]["kinds"]:
        found = (sets["written answers"]["kinds"][kind] for sets in tiers.values())
        yield _line(kind, *map(_share, found))


def cautious() -> Iterator[str]:
    """Answer rate and error of each bound and of the learned gate."""
    results = _result("cautious")
    if not results:
        return
    ks = results["k"]
    yield from _head("rule, threshold", *(f"k = {k}: answers / errors / AURC / ε" for k in ks))
    for name, row in next(iter(ks.values()))["rules"].items():
        cells = (own["rules"].get(name) for own in ks.values())
        yield _line(f"{name}, {row['threshold']:g}", *map(_cautious_cell, cells))
    share = next(iter(ks.values()))["share_enough"]
    yield (
        f"\n{results['questions']} questions of {results['set']}, two samples of "
        f"{results['documents']} documents each, δ = {results['delta']:g}; {share:.0%} of the "
        "samples hold enough evidence. AURC: mean error over all thresholds, lower is better."
    )


def _cautious_cell(row: Figures | None) -> str:
    if row is None:
        return ""
    error = "–" if row["error"] is None else f"{row['error']:.0%}"
    epsilon = f"{row['mean_epsilon']:.2f}" if "mean_epsilon" in row else "–"
    return f"{row['answer_rate']:.0%} / {error} / {row['aurc']:.2f} / {epsilon}"


def redteam() -> Iterator[str]:
    """What became of the attacks, from `suffice redteam` on several collections."""
    results = _result("redteam")
    if not results:
        return
    total = results["total"]
    yield (
        f"{_with_interval(total, 'right')} of {total['cases']} attacks ended in the right action, "
        f"and {_with_interval(total, 'twins_served')} of the twins were served; "
        f"{total['served_plain']} attacks were served without a caveat. Drafter: "
        f"{results['setup']['drafter']}; verifier: {results['setup']['models']['verifier']}; at "
        f"most {results['most']} cases for each attack and collection.\n"
    )
    yield from _head("attack", "cases", "right action", "served without a caveat", "twins served")
    for name, row in results["attacks"].items():
        yield _redteam_row(name, row)
    yield ""
    yield from _head(
        "documents", "cases", "right action", "served without a caveat", "twins served"
    )
    for name, row in results["collections"].items():
        size = row["documents"]
        yield _redteam_row(f"{name} ({size['documents']} files, {size['passages']} passages)", row)


def _redteam_row(name: str, row: Figures) -> str:
    if not row["cases"]:
        return _line(name, "0", "no material", "", "")
    shares = _with_interval(row, "right"), _with_interval(row, "twins_served")
    return _line(name, str(row["cases"]), shares[0], str(row["served_plain"]), shares[1])


def _with_interval(row: Figures, name: str) -> str:
    low, high = row[f"{name}_interval"]
    return f"{row[f'{name}_share']:.0%} ({low:.0%} to {high:.0%})"


RULE_SETS = {"real": "real documents", "written": "written dev", "ragtruth": "RAGTruth dev"}


def rules() -> Iterator[str]:
    """What each rule is worth, from `suffice eval --each`."""
    sets = {
        title: found for name, title in RULE_SETS.items() if (found := _result(f"rules-{name}"))
    }
    if not sets:
        return
    yield from _head("without", *sets)
    for name in sorted({rule for found in sets.values() for rule in found["without"]}):
        yield _line(name, *(_changed(found["without"].get(name)) for found in sets.values()))
    yield ""
    for title, found in sets.items():
        share = f"{found['good']:.1%} decided well"
        yield f"- {title}: {found['cases']} cases, {share} ({found['model']})"


def _changed(row: Figures | None) -> str:
    if row is None:
        return ""
    low, high = row["interval"]
    return f"{row['better']} better, {row['worse']} worse ({low:+.3f} to {high:+.3f})"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _cores(results: Figures) -> str:
    machine = results["run"]["machine"]
    return f"{machine['cores']} cores ({machine['architecture']})"


def _head(*titles: str) -> Iterator[str]:
    yield _line(*titles)
    yield "|" + "---|" * len(titles)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def schemas() -> Iterator[str]:
    """The JSON objects of the HTTP API, field by field."""
    for name, schema in sorted(SCHEMAS.items()):
        yield f"### {name}"
        yield ""
        rows = list(_fields(schema, ""))
        if not rows:
            yield _type_of(schema)
        else:
            yield from _head("field", "type", "required")
            yield from (_line(f"`{field}`", kind, must) for field, kind, must in rows)
        yield ""


def _fields(schema: Schema, above: str) -> Iterator[tuple[str, str, str]]:
    for name, value in schema.get("properties", {}).items():
        must = "yes" if name in schema.get("required", ()) else "no"
        yield above + name, _type_of(value), must
        inner = value.get("items", value) if isinstance(value, dict) else value
        yield from _fields(inner, f"{above}{name}.")
    for other in schema.get("anyOf", ()):
        if "properties" not in schema:
            yield from _fields(other, above)


def _type_of(schema: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return ", ".join(f"`{json.dumps(value)}`" for value in values)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type_of(one) for one in schema["anyOf"]))
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"array of {_type_of(schema.get('items', {}))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


if __name__ == "__main__":
    main()
