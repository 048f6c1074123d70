"""The llm tier through the public interfaces: check, pipeline, gate, record, many threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import suffice
from suffice.gate.conflict.detect import Conflicts
from suffice.gate.policies.learned import Learned
from suffice.log.setup import Setup
from suffice.models.batching import Lanes, shared_verifier
from suffice.models.catalog import open_verifier
from suffice.models.llm.verifier import LlmVerifier
from suffice.models.verifier import Pair
from suffice.settings import DraftSettings, LlmSettings, Settings, VerifierSettings
from suffice.testing import Request, Scripted, ScriptedUpstream, fails
from suffice.types import Evidence, Finding, Level, Retrieved, Support, Verdict
from tests.checks.drafts import evidence, passage
from tests.fakes import HashEmbedder
from tests.models.llm_replies import (
    LEAVE,
    NOT_MENTIONED,
    SUPPORTED,
    Rough,
    assessment,
    llm,
    ruling,
    rulings,
)

CLAIM = "New parents may stay at home for 18 weeks"


def checked(verifier: LlmVerifier, answer: str, settings: Settings | None = None) -> Verdict:
    return suffice.check(
        answer, [LEAVE], settings=settings, verifier=verifier, embedder=HashEmbedder()
    )


def entailed(verdict: Verdict) -> Finding:
    return next(one for one in verdict.findings if one.check == "entailment")


def test_the_llm_lifts_a_claim_that_the_cheaper_tier_refused() -> None:
    refused = Rough(0.25)
    alone = suffice.check(f"{CLAIM} [1].", [LEAVE], verifier=refused, embedder=HashEmbedder())
    assert entailed(alone).support is not Support.BACKED
    assert not alone.served
    with llm(SUPPORTED, inner=refused) as (verifier, _):
        verdict = checked(verifier, f"{CLAIM} [1].")
    found = entailed(verdict)
    assert (found.support, found.score) == (Support.BACKED, 0.95)
    assert found.reason == "supported by the evidence (0.95, llm)"
    assert found.span == (0, len(LEAVE))
    assert verdict.served


def test_the_llm_sinks_a_claim_that_the_cheaper_tier_backed() -> None:
    said = "Parental leave lasts 18 weeks and is paid by the state"
    backed = Rough(0.79)
    alone = suffice.check(f"{said} [1].", [LEAVE], verifier=backed, embedder=HashEmbedder())
    assert entailed(alone).support is Support.BACKED
    for reply, support in (
        (NOT_MENTIONED, Support.UNBACKED),
        (rulings(ruling("contradicted", "is paid in full", 1)), Support.CONTRADICTED),
    ):
        with llm(reply, inner=backed) as (verifier, _):
            verdict = checked(verifier, f"{said} [1].")
        assert entailed(verdict).support is support
        assert not verdict.served


def test_the_caveat_stands_in_the_reason() -> None:
    with llm(fails(500), inner=Rough(0.25)) as (verifier, _):
        found = entailed(checked(verifier, f"{CLAIM} [1]."))
    assert found.support is not Support.BACKED
    assert "The LLM could not judge this: " in found.reason
    assert found.reason.endswith("the fast tier's score stands.")


def test_what_nobody_could_read_stays_unchecked_with_the_caveat() -> None:
    with llm(fails(500), inner=Rough(0.9, unchecked="It is German.")) as (verifier, _):
        found = entailed(checked(verifier, f"{CLAIM} [1]."))
    assert found.support is Support.UNCHECKED
    assert found.reason.startswith("It is German.")
    assert found.reason.endswith("score stands.")


def test_the_settings_alone_are_enough() -> None:
    """Our own fast tier is not sure of such a claim; `always` asks whatever it says."""
    with ScriptedUpstream([SUPPORTED]) as server:
        own = LlmSettings(url=server.url, ask="always", total_seconds=60.0, retries=0)
        settings = Settings(verifier=VerifierSettings(llm=own))
        verdict = suffice.check(f"{CLAIM} [1].", [LEAVE], settings=settings)
    assert entailed(verdict).reason == "supported by the evidence (0.95, llm)"
    assert server.requests


# The gate.


def decided(reply: Scripted, chance: float = 0.5) -> Any:
    found = Evidence("How long is parental leave?", (Retrieved(passage(LEAVE), 0.9),))
    with llm(reply, inner=Rough(chance)) as (verifier, _):
        return Learned(verifier).decide(found)


def test_the_llm_decides_the_gate_alone() -> None:
    opened = decided(assessment(True, (1, "leave lasts 18 weeks")), 0.2)
    assert (opened.level, opened.score, opened.missing) == (Level.SUFFICIENT, 0.95, ())
    shut = decided(assessment(False, missing=["who pays"]), 0.8)
    assert (shut.level, shut.missing) == (Level.INSUFFICIENT, ("who pays",))
    assert shut.score == pytest.approx(0.05)


def test_the_gate_tells_why_the_llm_could_not_judge() -> None:
    decision = decided(fails(500))
    assert any("the fast tier's score stands" in reason for reason in decision.reasons)


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (rulings(ruling("contradicted", "lasts 20 weeks", 1)), True),
        (NOT_MENTIONED, False),
        (fails(500), True),
    ],
)
def test_the_llm_confirms_a_conflict_before_it_is_shown(reply: Scripted, shown: bool) -> None:
    texts = ("Parental leave lasts 18 weeks.", "Parental leave lasts 20 weeks.")
    found = evidence(*texts, question="How long is parental leave?")
    fast = open_verifier(VerifierSettings())
    assert Conflicts(fast).find(found)
    with llm(reply, inner=fast) as (verifier, server):
        conflicts = Conflicts(verifier)
        assert bool(conflicts.find(found)) is shown
        assert conflicts.verifier is fast
        assert 1 <= len(server.requests) <= 2  # the two sides, and nothing on the way to them
    with llm(NOT_MENTIONED, inner=fast, ask="never") as (verifier, server):
        assert Conflicts(verifier).find(found)
        assert server.requests == []


# The record, the catalogue, many threads.


def test_the_record_names_the_llm_and_no_password() -> None:
    own = VerifierSettings(llm=LlmSettings(url="http://me:secret@judge.example/v1", model="big-1"))
    verifier = open_verifier(own)
    assert isinstance(verifier, LlmVerifier)
    setup = Setup(verifier=own, models={"verifier": verifier.id})
    assert "big-1" in verifier.id
    assert "secret" not in str(setup.record())
    assert "judge.example" in str(setup.record())


@pytest.mark.parametrize(
    ("llm_settings", "tier", "is_llm"),
    [
        (LlmSettings(), "", False),
        (LlmSettings(url="http://a/v1"), "", True),
        (LlmSettings(url="draft"), "", True),
        (LlmSettings(url="http://a/v1", ask="never"), "", False),
        (LlmSettings(url="http://a/v1"), "fast", False),
        (LlmSettings(url="http://a/v1"), "llm", True),
    ],
)
def test_the_catalogue(llm_settings: LlmSettings, tier: str, is_llm: bool) -> None:
    draft = DraftSettings(llm="http://drafter/v1")
    verifier = open_verifier(VerifierSettings(llm=llm_settings), tier, draft)
    assert isinstance(verifier, LlmVerifier) == is_llm


def test_a_slow_llm_holds_no_lane_and_requests_keep_their_own_budget() -> None:
    lanes, release = Lanes(1), threading.Event()

    def waits(request: Request) -> Scripted:
        release.wait(120)
        return NOT_MENTIONED

    chances = Rough(lambda said: 0.5 if "asked" in said else 0.9)
    with llm(waits, inner=chances, total_calls=1, cache_size=0, total_seconds=240.0) as (
        verifier,
        _,
    ):
        shared = shared_verifier(verifier, lanes)

        def support(said: str) -> Sequence[Any]:
            return shared.support([Pair(said, (LEAVE,))])

        with ThreadPoolExecutor(5) as pool:
            slow_ones = [pool.submit(support, f"asked {n}") for n in range(3)]
            quick = pool.submit(support, "sure of it")
            try:
                assert quick.result(timeout=100)[0].tier == "fast"
            finally:
                release.set()
            assert [one.result(timeout=100)[0].tier for one in slow_ones] == ["llm"] * 3
    assert (shared.id, shared.tier) == (verifier.id, "llm")
