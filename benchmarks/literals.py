"""Measures how well the literals check separates a changed value from one in other words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import claim_edits
from benchmarks.literal_cases import REWORDED, Case, edits, rewordings
from suffice.checks.check import run_checks
from suffice.checks.literals import Literals
from suffice.lab.eval.rows import PASSAGES, TEXT, read_rows
from suffice.lab.eval.run_record import run_record
from suffice.types import Citation, Claim, Draft, Evidence, Finding, Passage, Retrieved, Support

WANTED = {"caught": 0.95, "flagged": 0.03}
_FIELDS = {"evidence": PASSAGES, "claim": TEXT, "label": TEXT}
_SHOWN = 10
_Changes = Callable[[Random, str, str], Iterator[tuple[str, str, claim_edits.Change]]]


def bench_literals(data: Path | None, n: int, seed: int) -> dict[str, Any]:
    """The share of `n` edited claims that is caught, and of `n` reworded claims that is flagged.
    The claims come from templates, or from supported claims of `data`."""
    if data is None:
        made = {
            "edits": edits(Random(seed), n),
            "rewordings": rewordings(Random(seed + 1), n),
        }
    else:
        rows = read_rows(data, tuple(_FIELDS), _FIELDS)
        made = {
            "edits": _of_claims(Random(seed), rows, claim_edits.changes, n),
            "rewordings": _of_claims(Random(seed + 1), rows, claim_edits.same, n),
        }
    figures = {name: _figures(cases) for name, cases in made.items()}
    run = run_record(*([data] if data else []))
    return {"n": n, "seed": seed, **figures, "wanted": WANTED, "run": run}


def judge(case: Case) -> Finding:
    """The finding of the check for a case, as a draft with one claim."""
    passage = Passage("evidence", case.evidence, "evidence")
    claim = Claim(case.claim, 0, len(case.claim), (1,))
    draft = Draft(case.claim, (claim,), (Citation(1, passage, ""),))
    evidence = Evidence("", (Retrieved(passage, None),))
    return run_checks([Literals()], draft, evidence)[0]


def _of_claims(
    random: Random, rows: list[dict[str, Any]], change: _Changes, n: int
) -> Iterator[Case]:
    """One case from each claim that allows this change, in random order."""
    found = list(claim_edits.supported(rows))
    random.shuffle(found)
    possible = ((claim, text, list(change(random, claim, text))) for claim, text in found)
    for _, text, options in islice((one for one in possible if one[2]), n):
        sentence, right, (what, written) = random.choice(options)
        yield Case(sentence, text, what or REWORDED, right, written)


def _figures(cases: Iterable[Case]) -> dict[str, Any]:
    """The share of cases the check objects to, in total and by change, with examples of errors."""
    judged = [(case, judge(case)) for case in cases]
    kinds = sorted({case.what for case, _ in judged})
    wrong = [(case, finding) for case, finding in judged if _against(finding) != case.edited]
    return {
        "n": len(judged),
        "share": _share(finding for _, finding in judged),
        "by": {kind: _share(f for case, f in judged if case.what == kind) for kind in kinds},
        "wrong": [_shown(case, finding) for case, finding in wrong[:_SHOWN]],
    }


def _share(findings: Iterable[Finding]) -> float | None:
    flags = [_against(finding) for finding in findings]
    return round(sum(flags) / len(flags), 4) if flags else None


def _against(finding: Finding) -> bool:
    return finding.support in (Support.CONTRADICTED, Support.UNBACKED)


def _shown(case: Case, finding: Finding) -> Mapping[str, str]:
    return {
        "claim": case.claim,
        "right": case.right,
        "written": case.written,
        "reason": finding.reason,
        "evidence": case.evidence if len(case.evidence) <= 600 else case.evidence[:600] + "…",
    }
