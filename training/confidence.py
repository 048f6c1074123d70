"""Fit the probability that quotations answer a question.

    python -m training.confidence --data ../shared/data --retrieved build/retrieved.jsonl

Needs no GPU. The extractive drafter writes for questions that no verifier was trained on: the held
written cases, each with its answer among the passages and without it, and the questions on the real
documents. A draft is right where it holds what the answer rests on. Writes
src/suffice/verdict/confidence.json: for each tier, a line over the log-odds of the gate and of the
quotation. Its slopes come from all questions; how steep it is and where it crosses even odds, only
from those for which the gate opens: for others nobody sees the number. Both sets weigh the same.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suffice.draft.extractive import Extractive
from suffice.evidence.split import embedded_text
from suffice.gate.policies.learned import Learned
from suffice.lab.eval.cases import folded
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.verifier import CachedEmbedder, log_odds
from suffice.settings import (
    DraftSettings,
    EmbedderSettings,
    LearnedSettings,
    SearchSettings,
    VerifierSettings,
)
from suffice.types import Draft, Evidence, Passage, Retrieved
from suffice.verdict.confidence import FILE, SURE

from .calibrate import balanced, ece, logistic
from .measure import auroc
from .rows import read_lines
from .written import Passage as Marked
from .written import Stock, Twins, annotated, held_cases

ANNOTATIONS = Path(__file__).parent / "data" / "written"
TOP = SearchSettings().top_k
ENOUGH_HELD = 0.7
"""The share of what an answer rests on that a right draft quotes."""
OPEN = LearnedSettings().opens()
SEED = 7
TIERS = ("fast", "strong")


@dataclass(frozen=True, slots=True)
class QuestionCase:
    """A question with its passages. `answers`: a right draft holds one text of each group;
    `points`: or it quotes most of these spans, by the id of their passage."""

    set: str
    question: str
    passages: tuple[Passage, ...]
    answers: tuple[tuple[str, ...], ...] = ()
    points: tuple[tuple[str, int, int], ...] = ()

    def right(self, draft: Draft) -> bool:
        if self.answers:
            text = folded(draft.text)
            return all(any(folded(one) in text for one in group) for group in self.answers)
        total = sum(end - start for _, start, end in self.points)
        return bool(total) and self._quoted(draft) >= ENOUGH_HELD * total

    def _quoted(self, draft: Draft) -> int:
        quoted = [
            (citation.passage.id, start, start + len(part))
            for citation in draft.citations
            for part in citation.quote.split(" … ")
            if (start := citation.passage.text.find(part)) >= 0
        ]
        return sum(
            max(0, min(end, last) - max(start, first))
            for name, start, end in self.points
            for other, first, last in quoted
            if name == other
        )


def real(path: Path) -> Iterator[QuestionCase]:
    for row in read_lines(path):
        passages = tuple(
            Passage(f"p{n}", one["text"], f"d{n}", one["title"], heading=tuple(one["heading"]))
            for n, one in enumerate(row["passages"][:TOP])
        )
        answers = row.get("answers_all") or () if row["answerable"] else ()
        yield QuestionCase("real", row["question"], passages, tuple(map(tuple, answers)))


def held(data: Path, most: int) -> Iterator[QuestionCase]:
    """Held cases in twins; near passages fill up what a search would find."""
    draw = random.Random(SEED)
    cases = held_cases(data, ANNOTATIONS)
    stock = Stock(annotated(data, ANNOTATIONS))
    questions = [(case, qa) for case in cases for qa in case["qa"] if qa.get("e")]
    for case, qa in draw.sample(questions, min(most, len(questions))):
        twins = Twins(case, stock, draw)
        own = twins.passages(qa["e"])
        lacking = twins.emptied(own) if draw.random() < 0.5 else None
        for marked in (own, lacking or twins.lacking(own, qa["p"], qa["q"])):
            known = {one.text for one in marked}
            near = stock.near(case, qa["q"], max(0, TOP - len(marked)), draw)
            found = [*marked, *(one for one in near if one.text not in known)]
            yield _question_case(qa["q"], case["title"], draw.sample(found, len(found)))


def _question_case(question: str, title: str, found: Sequence[Marked]) -> QuestionCase:
    passages = tuple(Passage(f"p{n}", one.text, f"d{n}", title) for n, one in enumerate(found))
    points = tuple((f"p{n}", *span) for n, one in enumerate(found) for span in one.points)
    return QuestionCase("written", question, passages, points=points)


def evidence(case: QuestionCase, embedder: Embedder) -> Evidence:
    vectors = embedder.embed([case.question, *map(embedded_text, case.passages)])
    items = (
        Retrieved(passage, float(vector @ vectors[0]))
        for passage, vector in zip(case.passages, vectors[1:], strict=True)
    )
    return Evidence(case.question, tuple(items))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--retrieved", type=Path, required=True)
    parser.add_argument("--most", type=int, default=100, help="questions of the held cases")
    parser.add_argument("--tier", choices=TIERS, action="append", help="others stay as they are")
    given = parser.parse_args()
    cases = [*real(given.retrieved), *held(given.data, given.most)]
    made = json.loads(FILE.read_text("utf-8"))
    made |= {tier: fitted(cases, tier) for tier in given.tier or TIERS}
    FILE.write_text(json.dumps(made, indent=2) + "\n", "utf-8")
    print(f"wrote {FILE}")


def fitted(cases: Sequence[QuestionCase], tier: str) -> dict[str, Any]:
    """The line of a tier, and how many questions it was fitted on."""
    embedder = CachedEmbedder(open_embedder(EmbedderSettings()))
    verifier = open_verifier(VerifierSettings(), tier)
    gate, drafter = Learned(verifier), Extractive(embedder, DraftSettings(), verifier)
    rows: list[tuple[str, float, float, bool]] = []
    for one in cases:
        found = evidence(one, embedder)
        draft = drafter.write(found)
        if draft.answers is not None:
            chance = gate.decide(found).score
            rows.append(
                (one.set, log_odds(chance, SURE), log_odds(draft.answers, SURE), one.right(draft))
            )
        print(f"{tier} {len(rows)}", end="\r", flush=True)
    sets = np.array([row[0] for row in rows])
    inputs = np.array([row[1:3] for row in rows])
    truth = np.array([row[3] for row in rows])
    report(sets, inputs, truth)
    passages, quoted, offset = (round(float(one), 3) for one in line_of(sets, inputs, truth))
    counts = {name: int((sets == name).sum()) for name in sorted(set(sets.tolist()))}
    line = {"passages": passages, "quoted": quoted, "offset": offset}
    print(f"{tier}: {line}")
    return {**line, "fitted": counts}


def line_of(sets: Any, inputs: Any, truth: Any) -> Any:
    """Two slopes and an offset."""
    right = truth.astype(float)
    *slopes, _ = logistic(inputs, right, balanced(sets), ridge=1.0)
    shown = inputs[:, 0] >= log_odds(OPEN, SURE)
    scores = (inputs @ slopes)[shown, None]
    steep, offset = logistic(scores, right[shown], balanced(sets[shown]))
    return np.array([*(steep * np.array(slopes)), offset])


def report(sets: Any, inputs: Any, truth: Any) -> None:
    """Each half by the line of the other."""
    half = np.random.default_rng(SEED).random(len(truth)) < 0.5
    chances = np.zeros(len(truth))
    for own in (half, ~half):
        *slopes, offset = line_of(sets[~own], inputs[~own], truth[~own])
        chances[own] = 1 / (1 + np.exp(-(inputs[own] @ np.array(slopes) + offset)))
    for name in dict.fromkeys(sets.tolist()):
        own = sets == name
        print(
            f"{name:8} n {own.sum()} right {truth[own].sum()} AUROC "
            f"{auroc(truth[own], chances[own]):.3f} ECE {ece(chances[own], truth[own]):.3f}"
        )
        for low, high in ((0, 0.3), (0.3, 0.5), (0.5, 0.65), (0.65, 0.8), (0.8, 0.9), (0.9, 1.01)):
            some = own & (chances >= low) & (chances < high)
            if some.any():
                print(f"   {low:.2f} to {high:.2f}: {some.sum()}, right {truth[some].mean():.2f}")


if __name__ == "__main__":
    main()
