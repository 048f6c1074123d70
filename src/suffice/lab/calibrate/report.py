"""The report of a calibration: a self-contained HTML page, and its plots as PNG."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from suffice.errors import ExtraMissing, Unreadable
from suffice.lab.calibrate.certificate import Certificate

Tree = Mapping[str, Any]
_ERROR, _SERVED, _MUTED = "#b3261e", "#1f5fa8", "#8a8f98"


def need_plots() -> None:
    """Fail early if matplotlib is missing, before the scores take minutes to compute."""
    if find_spec("matplotlib") is None:
        raise ExtraMissing("The report of a calibration", "learn")


def picture(certificate: Certificate) -> bytes:
    """A PNG with risk against coverage, reliability, and the effect of each threshold."""
    need_plots()
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, places = pyplot.subplots(2, 2, figsize=(11, 8), layout="constrained")
    _risk_coverage(places[0, 0], certificate)
    _reliability(places[0, 1], certificate.figures["reliability"])
    lines = certificate.figures["sensitivity"]
    _sensitivity(places[1, 0], certificate, lines["confidence"], "confidence")
    if "gate" in lines:
        _sensitivity(places[1, 1], certificate, lines["gate"], "gate")
    else:
        places[1, 1].set_axis_off()
    for plot in places.flat:
        plot.grid(alpha=0.25)
        plot.spines[["top", "right"]].set_visible(False)
    held = BytesIO()
    figure.savefig(held, dpi=130, format="png", metadata={"Software": None})
    pyplot.close(figure)
    return held.getvalue()


def _risk_coverage(plot: Any, made: Certificate) -> None:
    curve: Sequence[Tree] = made.figures["risk_coverage"]
    plot.plot(
        [one["coverage"] for one in curve],
        [one["served_error"] for one in curve],
        color=_SERVED,
        label="by confidence alone",
    )
    plot.axhline(made.alpha, color=_ERROR, linestyle="--", label=f"limit {made.alpha:g}")
    published, configured = made.figures["published"], made.figures["configured"]
    moved = configured["thresholds"] != published["thresholds"]
    known = {"published": ("s", published), **({"configured": ("D", configured)} if moved else {})}
    for name, (marker, found) in known.items():
        _point(plot, found["coverage"], found["served_error"], name, marker, _MUTED)
    if made.certified:
        _point(plot, made.coverage, made.served_error, "certified", "o", _ERROR)
    _axes(plot, "Risk against coverage", "share of answers served", "wrong among served")
    plot.set_xlim(0, 1)
    plot.set_ylim(bottom=0)
    plot.legend(frameon=False)


def _point(plot: Any, coverage: Tree, error: Tree, name: str, marker: str, colour: str) -> None:
    if error["rate"] is None:
        return
    low, high = error["rate"] - error["low"], error["high"] - error["rate"]
    plot.errorbar(
        [coverage["rate"]],
        [error["rate"]],
        yerr=[[max(low, 0)], [max(high, 0)]],
        marker=marker,
        color=colour,
        linestyle="none",
        capsize=3,
        label=f"{name}, 95 % interval",
        zorder=3,
    )


def _reliability(plot: Any, bins: Sequence[Tree]) -> None:
    plot.plot([0, 1], [0, 1], color=_MUTED, linestyle="--", label="perfectly calibrated")
    rates = [one["correct"] for one in bins]
    low = [max(one["rate"] - one["low"], 0) for one in rates]
    high = [max(one["high"] - one["rate"], 0) for one in rates]
    plot.errorbar(
        [one["confidence"] for one in bins],
        [one["rate"] for one in rates],
        yerr=[low, high],
        marker="o",
        color=_SERVED,
        capsize=3,
        label="observed, 95 % interval",
    )
    for one, found in zip(bins, rates, strict=True):
        plot.annotate(
            str(found["rows"]), (one["confidence"], 0.01), ha="center", fontsize=8, color=_MUTED
        )
    _axes(plot, "Reliability (number of rows below)", "confidence", "share that is correct")
    plot.set_xlim(0, 1)
    plot.set_ylim(0, 1.03)
    plot.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.06))


def _sensitivity(plot: Any, made: Certificate, line: Sequence[Tree], name: str) -> None:
    known = [one for one in line if one["served_error"] is not None]
    at = [one["at"] for one in known]
    plot.fill_between(
        at,
        [one["low"] for one in known],
        [one["high"] for one in known],
        color=_ERROR,
        alpha=0.12,
        linewidth=0,
    )
    plot.plot(at, [one["served_error"] for one in known], color=_ERROR, label="wrong among served")
    plot.plot(
        [one["at"] for one in line],
        [one["coverage"] for one in line],
        color=_SERVED,
        label="served",
    )
    plot.plot(
        [one["at"] for one in line],
        [one["false_withhold"] for one in line],
        color=_MUTED,
        label="correct withheld",
    )
    plot.axhline(made.alpha, color=_ERROR, linestyle="--", linewidth=1)
    if made.thresholds is not None and made.thresholds[name] is not None:
        plot.axvline(made.thresholds[name], color="black", linewidth=1, label="certified")
    _axes(plot, f"Sensitivity to the {name} threshold", f"{name} threshold", "share")
    plot.set_xlim(0, 1)
    plot.set_ylim(0, 1.03)
    plot.legend(frameon=False)


def _axes(plot: Any, title: str, across: str, up: str) -> None:
    plot.set_title(title, loc="left")
    plot.set_xlabel(across)
    plot.set_ylabel(up)


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #1c1e21; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; margin: .5rem 0 1rem; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #dde1e6 }
th:first-child, td:first-child, .facts td { text-align: left }
img { max-width: 100% } .no { color: #8a4b00 } .yes { color: #14692f } .note { color: #565d66 }
.wide { overflow-x: auto }
"""


def write_report(certificate: Certificate, folder: Path) -> list[Path]:
    """Write report.html and report.png to a folder, and return their paths."""
    plots = picture(certificate)
    made = [folder / "report.html", folder / "report.png"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        made[0].write_text(page(certificate, plots), encoding="utf-8")
        made[1].write_bytes(plots)
    except OSError as problem:
        raise Unreadable(
            f"Cannot write to {folder}: {problem.strerror}.", remedy="Choose another folder."
        ) from problem
    return made


def page(made: Certificate, plots: bytes) -> str:
    """The report as one page."""
    body = "\n".join(_parts(made, b64encode(plots).decode()))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Calibration {made.id}</title><style>{_STYLE}</style></head>"
        f"<body>\n{body}\n</body></html>\n"
    )


def _parts(made: Certificate, plots: str) -> Iterator[str]:
    state, word = ("yes", "Certified") if made.certified else ("no", "Not certified")
    yield f"<h1>Calibration of {escape(made.data.get('file', ''))}</h1>"
    yield (
        f'<p class="{state}"><strong>{word}:</strong> at most {made.alpha:.3g} of the answers '
        f"served ({' or '.join(made.served)}) are wrong, with {1 - made.delta:.4g} confidence, on "
        "questions like those of the labels.</p>"
    )
    yield _facts(made)
    yield "<h2>Thresholds compared</h2>"
    yield _thresholds(made)
    yield '<p class="note">Rates with 95 % intervals. The certified row is measured on the '
    yield "rows used to test it, the others on all rows.</p>"
    if made.needed:
        yield "<h2>Labels needed</h2>"
        yield _needed(made.needed)
    alt = "Risk against coverage, reliability and sensitivity; the numbers are in the JSON file"
    yield f'<h2>Plots</h2><img alt="{alt}" src="data:image/png;base64,{plots}">'
    yield from _details(made.figures)
    yield "<h2>History</h2>"
    yield _history(made)


def _facts(made: Certificate) -> str:
    method = made.method
    rows = [
        ("certificate", made.id),
        ("created", made.created),
        ("labels", f"{made.n} (sha256 {made.data.get('sha256', '')[:16]})"),
        (
            "method",
            f"{method['test']} test, {method['family']}, {method['pairs']} pairs of thresholds "
            f"tested on {method['testing_rows']} rows",
        ),
        ("δ spent by this calibration", f"{made.level:.4g} of {made.delta:.4g}"),
        *((name, id) for name, id in made.models.items()),
        ("policy", f"{made.policy.get('gate', '')} (settings {made.policy.get('digest', '')})"),
    ]
    return _table((), rows)


def _thresholds(made: Certificate) -> str:
    rows = []
    if made.thresholds is not None:
        own = (made.coverage, made.served_error, made.false_withhold)
        rows.append(["certified", *_numbers(made.thresholds), *map(_rate, own)])
    moved = made.figures["configured"]["thresholds"] != made.figures["published"]["thresholds"]
    for name in ("configured", "published") if moved else ("published",):
        one = made.figures[name]
        own = (one["coverage"], one["served_error"], one["false_withhold"])
        rows.append([name, *_numbers(one["thresholds"]), *map(_rate, own)])
    head = ("", "gate", "confidence", "served", "wrong among served", "correct withheld")
    return _table(head, rows)


def _numbers(thresholds: Tree) -> list[str]:
    found = (thresholds["gate"], thresholds["confidence"])
    return ["–" if one is None else f"{one:.3f}" for one in found]


def _needed(needed: Sequence[Tree]) -> str:
    rows = [
        (f"{one['labels']:,}", f"{one['coverage']:.0%}", f"{one['error']:.1%}") for one in needed
    ]
    return _table(("more labels, about", "served", "estimated error"), rows)


def _details(figures: Tree) -> Iterator[str]:
    if gate := figures["gate"]:
        yield "<h2>The gate alone</h2>"
        truth = "sufficient evidence" if gate["truth"] == "sufficient" else "correct answers"
        rows = [
            (f"closed for {truth} (false negative)", _rate(gate["false_negative"])),
            ("open for the others (false positive)", _rate(gate["false_positive"])),
        ]
        yield _table((), rows)
    yield "<h2>By kind of error</h2>"
    found = sorted({name for one in figures["kinds"] for name in one["found"]})
    head = ("labelled", "rows", "served", *(f"withheld, checks found: {name}" for name in found))
    yield _table(
        head,
        [
            (one["kind"], one["rows"], one["served"], *(one["found"].get(n, 0) for n in found))
            for one in figures["kinds"]
        ],
    )
    for field, groups in figures["groups"].items():
        if groups:
            yield f"<h2>By {field}</h2>"
            rates = ("coverage", "served_error", "false_withhold")
            rows = [(n, g["n"], *(_rate(g[one]) for one in rates)) for n, g in groups.items()]
            yield _table((field, "rows", "served", "wrong among served", "correct withheld"), rows)
    yield '<p class="note">The guarantee holds for all rows together, not for each group.</p>'


def _history(made: Certificate) -> str:
    rows = [
        (
            run.time[:16].replace("T", " "),
            run.n,
            f"{run.alpha:g}",
            f"{run.level:.4g}",
            "yes" if run.certified else "no",
            "all new" if run.fresh else "used before",
        )
        for run in made.history
    ]
    return _table(("time (UTC)", "labels", "max error", "δ spent", "certified", "rows"), rows)


def _rate(found: Tree) -> str:
    if found["rate"] is None:
        return "–"
    return f"{found['rate']:.1%} ({found['low']:.1%} to {found['high']:.1%})"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    above = "".join(f"<th>{escape(one)}</th>" for one in head)
    lines = [
        "<tr>" + "".join(f"<td>{escape(str(one))}</td>" for one in row) + "</tr>" for row in rows
    ]
    titles, kind = (f"<tr>{above}</tr>", "") if head else ("", ' class="facts"')
    return f'<div class="wide"><table{kind}>{titles}{"".join(lines)}</table></div>'
