"""The user's own LLM as the verifier, in the gateway and in MCP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest
from mcp import Client

from suffice.engine import Engine
from suffice.evidence.library import Library
from suffice.models.catalog import open_verifier
from suffice.server.mcp.server import open_server
from suffice.server.mcp.tools import ToolCaller, Tools
from suffice.settings import LlmSettings, RouteSettings, VerifierSettings
from suffice.testing import Request, Scripted, ScriptedUpstream, fails, says
from tests.models.llm_replies import assessment, ruling, rulings
from tests.server.gateway import QUESTION, routes, running

BACKED = rulings(ruling("supported", "up to 3 days per week", 1))
REFUTED = rulings(ruling("contradicted", "up to 3 days per week", 1))
ENOUGH = assessment(True, (1, "up to 3 days per week"))
LACKING = assessment(False, missing=["how many days"])
PASSAGE = "Eligible employees may work remotely up to 3 days per week."
PLAINLY = "Whoever is eligible may work from home three days a week. [1]"
SAID = "Three days of each week can be spent at home by those who are eligible. [1]"


def judge(support: Scripted, sufficiency: Scripted) -> Any:
    """An endpoint that answers each of the tier's two prompts."""

    def reply(request: Request) -> Scripted:
        said = str(request["messages"])
        return support if "check the claims" in said else sufficiency

    return reply


def settings_of(judging: ScriptedUpstream) -> VerifierSettings:
    own = LlmSettings(url=judging.url, ask="always", total_seconds=60.0, retries=0)
    return VerifierSettings(llm=own)


@pytest.mark.parametrize(
    ("support", "sufficiency", "action"),
    [
        (BACKED, ENOUGH, "SERVE"),
        (REFUTED, ENOUGH, "WITHHOLD"),
        (BACKED, LACKING, "WITHHOLD"),
    ],
)
def test_the_gateway_asks_the_llm(
    library: Library, support: Scripted, sufficiency: Scripted, action: str
) -> None:
    with (
        ScriptedUpstream([says(SAID)]) as writing,
        ScriptedUpstream([judge(support, sufficiency)]) as judging,
    ):
        route = RouteSettings(upstream=writing.url)
        settings = replace(routes(route), verifier=settings_of(judging))
        with running(library, settings) as gateway:
            answer = gateway.chat(QUESTION)
    assert judging.requests
    assert answer.model_extra["suffice"]["verdict"] == action


@pytest.mark.parametrize(("reply", "verdict"), [(BACKED, "SERVE"), (REFUTED, "WITHHOLD")])
def test_mcp_asks_the_llm(library: Library, reply: Scripted, verdict: str) -> None:
    async def use(server: Any) -> Any:
        async with Client(server) as client:
            given = {"draft": SAID, "texts": [PASSAGE]}
            return await client.call_tool("validate_draft", given)

    with ScriptedUpstream([reply]) as judging:
        desk = Tools(Engine(library=library, verifier=open_verifier(settings_of(judging))))
        found = anyio.run(use, open_server(desk, ToolCaller()))
    assert judging.requests
    assert found.structured_content["verdict"] == verdict


def test_a_broken_llm_leaves_the_cheaper_word_with_a_caveat(library: Library) -> None:
    with (
        ScriptedUpstream([says(PLAINLY)]) as writing,
        ScriptedUpstream([fails(500)]) as judging,
    ):
        settings = replace(
            routes(RouteSettings(upstream=writing.url)), verifier=settings_of(judging)
        )
        with running(library, settings) as gateway:
            answer = gateway.chat(QUESTION)
    assert judging.requests
    assert "score stands" in str(answer.model_extra["suffice"])
