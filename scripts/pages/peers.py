"""Suffice beside other detectors."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.pages.benches import _cell
from scripts.pages.tables import Figures, cores, head, line, result, share


def peers_speed(found: Figures | None = None) -> Iterator[str]:
    """The time of other detectors as multiples of the fast tier's."""
    found = result("peers") if found is None else found
    speed = found.get("speed")
    if not speed:
        return
    names = ("precision", "calls an answer", "tokens a call", "time", "over the rounds")
    yield from head("detector", *names)
    for row in speed["detectors"]:
        peer = "model" in row
        yield line(
            f"{row['name']}: {row['model']}" if peer else row["name"],
            row["precision"] if peer else "as shipped",
            f"{row['calls']:g}" if peer else "",
            f"{row['tokens']:,}" if peer else "",
            f"{row['ratio']:.2f}",
            f"{row['low']:.2f} to {row['high']:.2f}",
        )
    before, after = speed["load"]
    yield (
        f"\n{speed['answers']} answers, {speed['rounds']} rounds, {cores(found)}, load average "
        f"{before:g} before and {after:g} after; {found['model']}, from `docs/results/peers.json`."
    )


def peers_quality(found: Figures | None = None) -> Iterator[str]:
    """Detectors on the same rows: AUROC, F1 and balanced accuracy of each set and task."""
    found = result("peers") if found is None else found
    if "quality" not in found:
        return
    groups: dict[str, Figures] = {}
    for name, own in found["quality"].items():
        groups[name] = own
        groups |= {f"{name}, {task}": one for task, one in own.get("tasks", {}).items()}
    yield from head("detector", *(f"{name} ({own['n']})" for name, own in groups.items()))
    first = next(iter(groups.values()))["detectors"]
    columns = ("auroc", "f1", "balanced_accuracy")
    for detector in first:
        rows = [own["detectors"][detector] for own in groups.values()]
        yield line(detector, *(" / ".join(_cell(row, one) for one in columns) for row in rows))
    yield ""
    yield "AUROC of the fast tier minus that of the detector, 95 % interval:\n"
    yield from head("detector", *groups)
    for detector, row in first.items():
        if row["auroc_behind"]:
            rows = [own["detectors"][detector]["auroc_behind"] for own in groups.values()]
            yield line(detector, *(f"{low:+.2f} to {high:+.2f}" for low, high in rows))
    yield (
        f"\n{found['model']} and {found['embedder']}; score: {found['aggregation']}; from "
        "`docs/results/peers.json`."
    )


def peers_published(found: Figures | None = None) -> Iterator[str]:
    """What the authors of other detectors report."""
    found = result("peers") if found is None else found
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
    yield from head("published, not run here", *names)
    for row in found["published"]:
        figures = (share(row[one]) for one in columns)
        yield line(row["name"], "yes" if row["trained"] else "no", *figures, row["source"])


def peers_proxy(found: Figures | None = None) -> Iterator[str]:
    """The gateway without checks beside LiteLLM's proxy."""
    found = result("peers") if found is None else found
    for way, row in (found.get("proxy") or {}).items():
        yield (
            f"- {way}: {row['throughput_times']:.1f} times the throughput, "
            f"{row['added_share']:.2f} of the added latency"
        )
