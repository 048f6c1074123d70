"""For any chunking of any draft, both modes come to the same verdict (nothing revised or rescued).

Runs in this process with checks that only compare words, because the subject is how a stream is
reassembled. `test_streaming.py` has real checks over HTTP.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from suffice.access.keys import Principal
from suffice.checks.verbatim import Verbatim
from suffice.draft.extractive import Extractive
from suffice.engine import Assembly, Engine
from suffice.gate.gate import GateResult
from suffice.pipeline import Pipeline
from suffice.server.errors import ApiError
from suffice.server.inference_pool import InferencePool
from suffice.server.openai.answering import Answering, Delivery
from suffice.server.openai.chat import ChatFormat
from suffice.server.openai.completion import Disclosure, suffice_of
from suffice.server.openai.grounded import NOT_VERIFIED, VERIFIED
from suffice.server.openai.request import ChatRequest, read_request
from suffice.server.openai.upstream import UpstreamFault
from suffice.server.request import RequestContext
from suffice.server.route import Route
from suffice.server.telemetry.stats import RequestStats
from suffice.settings import (
    CollectionSettings,
    DraftSettings,
    LimitSettings,
    RouteSettings,
    Settings,
    VerdictSettings,
    WorkSettings,
)
from suffice.types import Draft, Evidence, Finding, GateDecision, Level, Support
from tests.fakes import HashEmbedder
from tests.server.gateway import use_checks

PASSAGES = [
    "Eligible employees may work remotely up to 3 days per week. Thursday is the anchor day.",
    "Überstunden werden am Monatsende ausgezahlt. Unused days lapse.",
]
OWN = CollectionSettings(
    draft=DraftSettings(revisions=0, retries=0), verdict=VerdictSettings(rescue=False)
)


class Open:
    """A gate that is always open."""

    def apply(self, evidence: Evidence, *_: Any) -> GateResult:
        return GateResult(evidence, GateDecision(Level.SUFFICIENT, 0.9, "open"))

    def may_draft(self, *_: Any) -> bool:
        return True


@dataclass(frozen=True)
class Words:
    """Backs a claim if a passage has all its words; another number contradicts it."""

    name: str = "entailment"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        known = set(" ".join(one.text for one in evidence.passages).lower().split())
        return [self._judge(claim, known, evidence) for claim in draft.claims]

    def _judge(self, claim: Any, known: set[str], evidence: Evidence) -> Finding:
        other = [word for word in claim.text.lower().split() if word not in known]
        support = Support.UNBACKED if other else Support.BACKED
        if any(word.isdigit() for word in other):
            support = Support.CONTRADICTED
        return Finding(claim, self.name, support, 0.9, evidence.passages[0].id, reason="words")


@dataclass
class Script:
    """An upstream that returns the same choices complete and as chunks."""

    whole: Mapping[str, Any] = field(default_factory=dict)
    pieces: Sequence[Mapping[str, Any]] = ()

    async def ask(self, body: Any) -> Mapping[str, Any]:
        return self.whole

    async def events(self, body: Any) -> AsyncGenerator[Mapping[str, Any], None]:
        for one in self.pieces:
            yield one


def route(script: Script) -> Route:
    embedder = HashEmbedder()
    base = Pipeline(
        lambda question: Evidence(question),
        cast(Any, Open()),
        Extractive(embedder, OWN.draft),
        embedder=embedder,
        draft_settings=OWN.draft,
        verdict_settings=OWN.verdict,
    )
    assembly = Assembly(Engine(embedder=embedder, verifier=cast(Any, None)), OWN)
    vars(assembly)["base"] = base
    opened = Route("r", RouteSettings(evidence="request"), assembly, cast(Any, script))
    use_checks(opened, (Verbatim(), Words()))
    return opened


def request(n: int) -> ChatRequest:
    body = {
        "messages": [{"role": "user", "content": "How many days may I work remotely?"}],
        "suffice": {"evidence": PASSAGES},
        "n": n,
    }
    return read_request(body, RouteSettings(evidence="request"), LimitSettings())


CALLER = Principal("p1", "tester", labels=frozenset())


@dataclass
class Limits:
    """Counts nothing."""

    def spent(self, *_: Any) -> None:
        return None


def context(work: InferencePool) -> RequestContext:
    state: Any = SimpleNamespace(settings=Settings())
    gateway: Any = SimpleNamespace(work=work, cache=None, state=state, limits=Limits())
    return RequestContext(cast(Any, None), gateway, CALLER, ExitStack(), RequestStats("/", 0.0))


async def held_back(
    script: Script, asked: ChatRequest, work: InferencePool
) -> list[dict[str, Any]] | None:
    try:
        answer = await Answering.of(context(work), route(script), asked).whole()
    except ApiError as fault:
        return None if "contains no text" in fault.message else []
    shown = [suffice_of(verdict, Disclosure.ALL) for verdict in answer.verdicts]
    return cast(list[dict[str, Any]], json.loads(json.dumps(shown)))


async def signalled(
    script: Script, asked: ChatRequest, work: InferencePool
) -> tuple[list[dict[str, Any]] | None, list[dict[str, Any]]]:
    """The verdicts of the choices, and all chunks."""
    answering = Answering.of(context(work), route(script), asked, Delivery.SIGNAL)
    sent: list[bytes] = []

    async def emit(events: Iterable[bytes]) -> None:
        sent.extend(events)

    try:
        await answering.stream(ChatFormat(asked), emit)
    except (ApiError, UpstreamFault):
        return None, []
    lines = [one.decode().removeprefix("data: ").strip() for one in sent]
    assert lines.pop() == "[DONE]"
    parts = [json.loads(line) for line in lines]
    return [one["suffice"] for one in parts if one["choices"][0]["finish_reason"]], parts


SENTENCES = st.sampled_from(
    [
        "Eligible employees may work remotely up to 3 days per week. [1]",
        "Eligible employees may work remotely up to 4 days per week. [1]",
        "Thursday is the anchor day. [1] ",
        "Überstunden werden am Monatsende ausgezahlt. [2]",
        "This is so, e.g. on 3.5 days. [9][1, 2]",
        "- Ask your manager.\n- Wait!\n",
        "The passages do not answer the question.",
        "日本では週に三日です。「はい」。",
        "<think>Is it 12 days?</think>",
        "</think>",
        "```\nx = 1. \n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "\0\u2028\n\n \t",
    ]
)
THOUGHT = "It may be 77 days, who knows."
THINKING = st.sampled_from(
    [
        "",
        "",
        f"<think>{THOUGHT}</think>",
        f"\n <thinking>{THOUGHT}</thinking>\n\n",
        f"<think>{THOUGHT}</think> <think>{THOUGHT}\n</think>",
        f"<think>{THOUGHT}",
        "<thin",
        "<",
        " \n",
    ]
)
TEXT = st.builds(
    lambda thinking, parts, end: thinking + " ".join(parts) + end,
    THINKING,
    st.lists(st.one_of(SENTENCES, SENTENCES, st.text(max_size=30)), max_size=5),
    st.sampled_from(["", "\n", " <think>"]),
)


@dataclass(frozen=True)
class Said:
    """One choice: its text, where it is split, its format and its finish reason."""

    text: str
    cuts: frozenset[int]
    shape: str = "plain"
    finish: str = "stop"

    def message(self, text: str) -> dict[str, Any]:
        if self.shape == "refusal":
            return {"content": None, "refusal": text}
        parts = [{"type": "text", "text": text}, {"type": "thinking", "thinking": THOUGHT}]
        return {"content": parts if self.shape == "parts" else text}

    def whole(self, index: int) -> dict[str, Any]:
        message = {"role": "assistant", "reasoning": THOUGHT, **self.message(self.text)}
        return {"index": index, "message": message, "finish_reason": self.finish}

    def pieces(self, index: int) -> list[dict[str, Any]]:
        places = [0, *sorted(cut for cut in self.cuts if cut <= len(self.text)), len(self.text)]
        cut = [self.text[a:b] for a, b in zip(places, [*places[1:], len(self.text)], strict=True)]
        deltas = [{"role": "assistant"}, *map(self.message, cut), {"reasoning": THOUGHT}]
        told = [{"index": index, "delta": one, "finish_reason": None} for one in deltas]
        return [*told, {"index": index, "delta": {}, "finish_reason": self.finish}]


SAID = st.builds(
    Said,
    TEXT,
    st.frozensets(st.integers(0, 250), max_size=60),
    st.sampled_from(["plain", "plain", "parts", "refusal"]),
    st.sampled_from(["stop", "stop", "length", "content_filter"]),
)


def scripted(choices: Sequence[Said], order: Sequence[int]) -> Script:
    """The complete choices, and their chunks interleaved in some order."""
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    frame = {"id": "x", "created": 1, "model": "m"}
    whole = {**frame, "choices": [one.whole(n) for n, one in enumerate(choices)], "usage": usage}
    queues = [one.pieces(n) for n, one in enumerate(choices)]
    pieces: list[dict[str, Any]] = []
    turns = list(order)
    while any(queues):
        left = [queue for queue in queues if queue]
        queue = left[(turns.pop() if turns else 0) % len(left)]
        pieces.append({**frame, "choices": [queue.pop(0)]})
    pieces.insert(len(pieces) // 2, {**frame, "choices": []})
    return Script(whole, [*pieces, {**frame, "choices": [], "usage": usage}])


WORK = InferencePool(WorkSettings(threads=1))


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Any:
    yield
    WORK.close()


@settings(max_examples=200, deadline=None)
@given(
    choices=st.lists(SAID, min_size=1, max_size=3),
    order=st.lists(st.integers(0, 2), max_size=80),
)
@example([Said(f"<think>{THOUGHT}", frozenset(range(40)))], [])
@example([Said("<thin", frozenset({1, 2, 3}))], [])
@example([Said("It may be 9 days. [1]", frozenset({3}), "refusal")], [])
@example([Said("It may be 9 days. [1]", frozenset({3}), "parts")], [])
def test_any_chunking_of_any_draft(choices: list[Said], order: list[int]) -> None:
    script = scripted(choices, order)
    asked = request(len(choices))

    async def both() -> tuple[Any, Any]:
        return await held_back(script, asked, WORK), await signalled(script, asked, WORK)

    whole, (ended, parts) = asyncio.run(both())
    assert ended == whole
    for index in range(len(choices)) if ended is not None else ():
        told_as_it_came(index, ended[index], parts)


def told_as_it_came(
    index: int, verdict: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]
) -> None:
    """The streamed text is the judged text, without reasoning, and every span matches its claim."""
    own = [one for one in parts if one["choices"][0]["index"] == index]
    told = ""
    for part in own:
        told += part["choices"][0]["delta"].get("content") or ""
        assert set(part["choices"][0]["delta"]) <= {"role", "content"}
        found = part.get("suffice") or {}
        if claim := found.get("claim") or found.get("retraction"):
            start, end = claim["span"]
            assert told[start:end] == claim["text"]
    assert THOUGHT not in told
    assert told == told.lstrip()
    told, _, words = told.rpartition("\n\n")
    assert words.startswith((VERIFIED, NOT_VERIFIED))
    for one in verdict["claims"]:
        start, end = one["span"]
        assert told[start:end] == one["text"]
