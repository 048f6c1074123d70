"""Calibration, the cautious experiment and the red team."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.pages.tables import Figures, head, line, result


def calibration() -> Iterator[str]:
    """How often simulated certificates break their promise, beside other methods."""
    found = result("calibration")
    if not found:
        return
    rates = ("certified", "broken", "served")
    yield from head("limit, δ, labels", "method", "runs", *rates)
    for case in found["cases"]:
        asked = f"{case['alpha']:g}, {case['delta']:g}, {case['n']}"
        for name, own in case["methods"].items():
            method = f"{name} ({found['mapie']})" if name.startswith("MAPIE") else name
            yield line(asked, method, str(own["runs"]), *(f"{own[one]:.1%}" for one in rates))


def cautious() -> Iterator[str]:
    """Answer rate and error of each bound and of the learned gate."""
    results = result("cautious")
    if not results:
        return
    ks = results["k"]
    yield from head("rule, threshold", *(f"k = {k}: answers / errors / AURC / ε" for k in ks))
    for name, row in next(iter(ks.values()))["rules"].items():
        cells = (own["rules"].get(name) for own in ks.values())
        yield line(f"{name}, {row['threshold']:g}", *map(_cautious_cell, cells))
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
    results = result("redteam")
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
    yield from head("attack", "cases", "right action", "served without a caveat", "twins served")
    for name, row in results["attacks"].items():
        yield _redteam_row(name, row)
    yield ""
    yield from head("documents", "cases", "right action", "served without a caveat", "twins served")
    for name, row in results["collections"].items():
        size = row["documents"]
        yield _redteam_row(f"{name} ({size['documents']} files, {size['passages']} passages)", row)


def _redteam_row(name: str, row: Figures) -> str:
    if not row["cases"]:
        return line(name, "0", "no material", "", "")
    shares = _with_interval(row, "right"), _with_interval(row, "twins_served")
    return line(name, str(row["cases"]), shares[0], str(row["served_plain"]), shares[1])


def _with_interval(row: Figures, name: str) -> str:
    low, high = row[f"{name}_interval"]
    return f"{row[f'{name}_share']:.0%} ({low:.0%} to {high:.0%})"
