"""The plots of a calibration report, as one PNG. Needs matplotlib, from the extra `learn`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from typing import Any

from suffice.errors import ExtraMissing
from suffice.learn.calibrate.certificate import Certificate

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
