"""Runs Suffice and its peers on the same answers: quality, time, and what is published."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.graph import onnx_package
from benchmarks.peers.published import published
from benchmarks.peers.quality import cosine, measure
from benchmarks.peers.race import Judge, Peer, peers, race
from benchmarks.peers.rows import PASSAGE_WORDS, Answer, mixed, read_ragtruth, read_written, sample
from suffice.answers import open_checker
from suffice.evidence.ingest import Progress
from suffice.lab.eval.run_record import run_record
from suffice.lab.eval.verifiers import AGGREGATION, judged
from suffice.models.embedder import Embedder
from suffice.models.verifier import CachedEmbedder, Verifier
from suffice.settings import Settings

PARTS = ("quality", "speed")
LIMIT, TIMED, ROUNDS = 120, 4, 3


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure: answers of each set, answers to time, rounds of the race."""

    limit: int = LIMIT
    timed: int = TIMED
    rounds: int = ROUNDS
    threads: int = 0
    parts: Sequence[str] = PARTS


def bench_peers(
    grounding: Path,
    written: Path | None,
    models: tuple[Verifier, Embedder],
    results: Path,
    plan: Plan,
    progress: Progress,
    *,
    against: Sequence[Peer] | None = None,
) -> dict[str, Any]:
    """`results` is the folder with gateway.json, if the gateway bench has run."""
    onnx_package()
    verifier, embedder = models
    files = [grounding, *([written] if written else [])]
    sets = {"ragtruth": sample(read_ragtruth(grounding), plan.limit)}
    if written:
        sets["written"] = sample(read_written(written), plan.limit)
    load = os.getloadavg()
    parts: dict[str, Any] = {}
    if "quality" in plan.parts:
        parts["quality"] = {
            name: measure(answers, verifier, embedder, progress) for name, answers in sets.items()
        }
    if "speed" in plan.parts:
        timed = mixed(sets.values(), plan.timed)
        found = race(
            timed,
            _ours(verifier, embedder),
            against or peers(),
            lambda text: len(embedder.token_ends(text)),
            threads=plan.threads,
            rounds=plan.rounds,
            progress=progress,
        )
        parts["speed"] = {
            "answers": len(timed),
            "rounds": plan.rounds,
            "passage_words": PASSAGE_WORDS,
            "load": [round(one, 2) for one in (load[0], os.getloadavg()[0])],
            "detectors": found,
        }
    return {
        "model": verifier.id,
        "embedder": embedder.id,
        "aggregation": AGGREGATION.name,
        "threshold": verifier.thresholds.support,
        "limit": plan.limit,
        **parts,
        "published": published(),
        "proxy": proxy(results / "gateway.json"),
        "run": run_record(*files),
    }


def _ours(verifier: Verifier, embedder: Embedder) -> dict[str, Judge]:
    """The reference first. Caches are empty for each answer, so that rounds do equal work."""

    def whole(answer: Answer) -> object:
        checker = open_checker(Settings(), verifier, CachedEmbedder(embedder), uncited=True)
        bare = replace(answer, evidence=answer.pieces())
        return checker.check(bare.text, bare.evidence, bare.question or None)

    return {
        "Suffice, fast tier": lambda answer: judged(verifier, [answer.row()]),
        "Suffice, all checks": whole,
        "embeddings only": lambda answer: cosine(answer, embedder),
    }


def proxy(gateway: Path) -> dict[str, Any] | None:
    """Suffice's gateway compared with LiteLLM's proxy, as `python -m benchmarks gateway` found."""
    if not gateway.is_file():
        return None
    plain = json.loads(gateway.read_text(encoding="utf-8")).get("plain", {})
    names = {"whole": "not streamed", "stream": "streamed"}
    return {
        label: {key: plain[f"{way}_compared"][key] for key in ("throughput_times", "added_share")}
        for way, label in names.items()
        if "throughput_times" in plain.get(f"{way}_compared", {})
    } or None
