"""Cautious RAG, measured: answer only if a lower confidence bound on mean relevance is high enough.

For each question, random samples of documents are drawn, half of them with the passages that belong
to the question. The k documents nearest to the question are "retrieved", and each rule decides
whether to answer. An answer is an error if the retrieved documents are not enough for it.

Run: python examples/cautious/experiment.py [DATA.jsonl.gz] [--questions 40] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from random import Random
from statistics import fmean, pvariance
from typing import Any

import numpy as np

from suffice.bounds import (
    Azuma,
    Bernstein,
    Betting,
    EmpiricalBernstein,
    Hoeffding,
    Inequality,
    Sample,
    lower_bound,
)
from suffice.errors import SourceMissing
from suffice.lab.eval.figures import area_under_risk
from suffice.lab.eval.rows import PASSAGES, TEXT, TRUTH, read_rows
from suffice.lab.eval.run_record import run_record
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.verifier import Pair, Verifier
from suffice.settings import EmbedderSettings, VerifierSettings

HERE = Path(__file__).parent
HANDBOOK = Path(str(resources.files("suffice"))) / "handbook"
QUESTIONS = HERE.parent / "questions.jsonl"
TAU, DELTA = 0.30, 0.05
"""The published threshold and confidence."""
LOWER = (0.0, 0.1, 0.2)
READ = 5
"""Passages that `learned` reads: more cost time and change little."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question, the passages that belong to it, and whether they answer it."""

    question: str
    own: tuple[str, ...]
    enough: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """What was retrieved from one random sample of documents, nearest first."""

    case: Case
    scores: tuple[float, ...]
    passages: tuple[str, ...]
    enough: bool


def handbook() -> list[Case]:
    """The sample that needs no data: the handbook, one passage per paragraph. A question that it
    does not answer has some other passage of its own."""
    pages = (page.read_text("utf-8") for page in sorted(HANDBOOK.glob("*.md")))
    parts = (" ".join(part.split()) for page in pages for part in page.split("\n\n"))
    texts = [part for part in parts if len(part.split()) > 5]
    cases: list[Case] = []
    for line in QUESTIONS.read_text("utf-8").splitlines():
        row = json.loads(line)
        holding = [text for text in texts if row["answerable"] and row["answer"] in text]
        own = tuple(holding[:1]) or (texts[len(cases) % len(texts)],)
        cases.append(Case(row["question"], own, bool(holding)))
    return cases


def labelled(path: Path, name: str) -> list[Case]:
    """The rows of a sufficiency set: question, evidence, sufficient."""
    kinds = {"question": TEXT, "evidence": PASSAGES, "sufficient": TRUTH}
    rows = read_rows(path, ("question", "evidence", "sufficient"), kinds)
    kept = [row for row in rows if name in ("", row.get("set"))]
    if not kept:
        raise SourceMissing(f"{path} has no set “{name}”.", remedy="Name another with --set.")
    return [Case(row["question"], _texts(row["evidence"]), row["sufficient"]) for row in kept]


def _texts(evidence: Any) -> tuple[str, ...]:
    return (evidence,) if isinstance(evidence, str) else tuple(evidence)


class Experiment:
    """Random samples of the documents of all cases."""

    def __init__(self, cases: Sequence[Case], embedder: Embedder, seed: int = 0) -> None:
        self.random = Random(seed)
        self.texts = list(dict.fromkeys(text for case in cases for text in case.own))
        self.vectors = dict(zip(self.texts, embedder.embed(self.texts), strict=True))
        asked = [case.question for case in cases]
        self.asked = dict(zip(asked, embedder.embed(asked), strict=True))

    def trials(self, cases: Sequence[Case], k: int, documents: int) -> Iterator[Trial]:
        """Two samples for each question: with its own passages, and without them."""
        for case in cases:
            others = [text for text in self.texts if text not in case.own]
            for held in (True, False):
                drawn = self.random.sample(others, min(documents, len(others)))
                pool = [*drawn, *(case.own if held else ())]
                near = {
                    text: float(self.vectors[text] @ self.asked[case.question]) for text in pool
                }
                best = sorted(near, key=lambda text: -near[text])[:k]
                scores = tuple(min(max(near[text], 0.0), 1.0) for text in best)
                found = held and set(case.own) <= set(best)
                yield Trial(case, scores, tuple(best), case.enough and found)


def inequalities(variance: float) -> dict[str, Inequality]:
    """The bounds compared. Bernstein's variance is known: it comes from other questions."""
    rules = (Hoeffding(), Azuma(), Bernstein(variance), EmpiricalBernstein(), Betting())
    return {rule.name: rule for rule in rules}


def compare(trials: Sequence[Trial], variance: float, verifier: Verifier | None) -> dict[str, Any]:
    """For each rule: how often it answers at its threshold, how often that is an error, and the
    mean error over all thresholds (AURC)."""
    truth = np.array([trial.enough for trial in trials])
    found = {}
    for name, rule in inequalities(variance).items():
        bounds = [lower_bound(rule, Sample.of(trial.scores), DELTA) for trial in trials]
        unclipped = np.array([bound.unclipped for bound in bounds])
        found[name] = _figures(unclipped, truth, TAU) | {
            "mean_epsilon": round(fmean(bound.epsilon for bound in bounds), 4)
        }
    means = np.array([fmean(trial.scores) for trial in trials])
    found["mean, no bound"] = _figures(means, truth, TAU)
    if verifier is not None:
        pairs = [Pair(trial.case.question, trial.passages[:READ]) for trial in trials]
        scores = np.array([score.enough for score in verifier.sufficiency(pairs)])
        found["learned"] = _figures(scores, truth, verifier.thresholds.sufficiency)
    return found


def _figures(scores: Any, truth: Any, threshold: float) -> dict[str, Any]:
    return {
        "threshold": threshold,
        **_at(scores, truth, threshold),
        "lower_thresholds": {str(tau): _at(scores, truth, tau) for tau in LOWER},
        "aurc": round(area_under_risk(scores, truth) or 0.0, 4),
        "scores": [round(float(score), 4) for score in scores],
    }


def _at(scores: Any, truth: Any, threshold: float) -> dict[str, float | None]:
    answered = scores >= threshold
    return {
        "answer_rate": round(float(answered.mean()), 4),
        "error": round(float((~truth[answered]).mean()), 4) if answered.any() else None,
    }


def break_even(delta: float = DELTA, spread: float = 0.0) -> int:
    """From how many passages on empirical Bernstein is tighter than Hoeffding, for scores that
    alternate between .5 − spread and .5 + spread."""
    for n in range(2, 100_000):
        sample = Sample.of([0.5 + (-spread if i % 2 else spread) for i in range(n)])
        mine, theirs = EmpiricalBernstein(), Hoeffding()
        if mine.margin(sample, delta).epsilon < theirs.margin(sample, delta).epsilon:
            return n
    return 0


def run(
    cases: Sequence[Case],
    embedder: Embedder,
    verifier: Verifier | None,
    *,
    ks: Sequence[int],
    documents: int,
    questions: int,
) -> dict[str, Any]:
    """The experiment for each number k of retrieved documents."""
    shuffled = list(cases)
    Random(0).shuffle(shuffled)
    shuffled = shuffled[: 2 * max(questions, documents)]
    measured, other = shuffled[:questions], shuffled[questions : 2 * questions] or shuffled
    experiment = Experiment(shuffled, embedder)
    results = {}
    for k in ks:
        trials = list(experiment.trials(measured, k, documents))
        spreads = [pvariance(trial.scores) for trial in experiment.trials(other, k, documents)]
        judge = verifier if k == max(READ, min(ks)) else None  # it reads the same passages
        results[str(k)] = {
            "share_enough": round(fmean(trial.enough for trial in trials), 4),
            "variance": round(fmean(spreads), 6),
            "rules": compare(trials, fmean(spreads), judge),
            "enough": [trial.enough for trial in trials],
        }
    return {"questions": len(measured), "documents": documents, "k": results}


def show(found: Mapping[str, Any]) -> None:
    for k, own in found["k"].items():
        print(f"\nk = {k}; enough evidence in {own['share_enough']:.0%} of the samples")
        print(f"{'rule':22}{'answers':>9}{'errors':>9}{'AURC':>8}{'mean ε':>9}")
        for name, row in own["rules"].items():
            error = "–" if row["error"] is None else f"{row['error']:.0%}"
            epsilon = f"{row['mean_epsilon']:.3f}" if "mean_epsilon" in row else ""
            rate, area = f"{row['answer_rate']:.0%}", f"{row['aurc']:.3f}"
            print(f"{name:22}{rate:>9}{error:>9}{area:>8}{epsilon:>9}")
    print(f"\nEmpirical Bernstein beats Hoeffding from n = {found['break_even']} on, at best.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("data", nargs="?", type=Path, help="JSON lines; default: the handbook")
    parser.add_argument("--set", default="", help="only the rows of this set")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--documents", type=int, default=100, help="size of a random sample")
    parser.add_argument("--k", type=int, nargs="*", default=[5, 10, 20, 50])
    parser.add_argument("--no-learned", action="store_true", help="compare the bounds alone")
    parser.add_argument("--out", type=Path, help="folder for cautious.json and the plots")
    chosen = parser.parse_args()
    cases = labelled(chosen.data, chosen.set) if chosen.data else handbook()
    verifier = None if chosen.no_learned else open_verifier(VerifierSettings())
    found = run(
        cases,
        open_embedder(EmbedderSettings()),
        verifier,
        ks=chosen.k,
        documents=chosen.documents,
        questions=chosen.questions,
    )
    found |= {
        "data": chosen.data.name if chosen.data else "handbook",
        "set": chosen.set,
        "delta": DELTA,
        "break_even": break_even(),
        "run": run_record(*([chosen.data] if chosen.data else [QUESTIONS])),
    }
    show(found)
    if chosen.out:
        from draw import draw  # needs matplotlib

        chosen.out.mkdir(parents=True, exist_ok=True)
        draw(found, chosen.out)
        for own in found["k"].values():
            del own["enough"]
            for row in own["rules"].values():
                del row["scores"]
        text = json.dumps(found, indent=1) + "\n"
        (chosen.out / "cautious.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
