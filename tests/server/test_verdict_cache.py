"""The cache of verdicts: repeated only where nothing that matters has changed, and recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from suffice.access.keys import Principals
from suffice.evidence.library import Library
from suffice.log.log import Log
from suffice.review.case import Act
from suffice.review.review import Review
from suffice.server.openai.verdict_cache import VerdictCache
from suffice.settings import RouteSettings, Settings
from suffice.settings.server import CacheSettings
from suffice.testing import Scripted, ScriptedUpstream, says
from tests.server.gateway import SERVED, RunningGateway, plays, routes, running

QUESTION = "How many days per week may I work remotely?"
REMOTE = b"# Remote\n\nYou may work remotely 3 days per week.\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library.open(tmp_path / "s.db", Settings(), create=True)
    opened.add_input(REMOTE, "remote.md")
    yield opened
    opened.store.close()


def cached(upstream: ScriptedUpstream, **limits: Any) -> Settings:
    cache = CacheSettings(enabled=True, **limits)
    return routes(RouteSettings(upstream=upstream.url), keys="required", cache=cache)


def ask(gateway: RunningGateway, key: str, question: str = QUESTION, **more: Any) -> Any:
    made = gateway.client(key).chat.completions.create(
        model="m", messages=[{"role": "user", "content": question}], **more
    )
    return made.model_extra["suffice"]


def test_a_verdict_is_repeated_until_something_changes(
    library: Library, upstream: ScriptedUpstream
) -> None:
    principals = Principals(library.store.database)
    ada, bob = principals.create("ada").secret, principals.create("bob").secret
    eve = principals.create("eve", labels=["hr"]).secret
    plays(upstream, says(SERVED))
    with running(library, cached(upstream)) as gateway:
        first = ask(gateway, ada)
        assert (first["cached"], first["repeats"]) == (False, None)
        again = ask(gateway, bob, f"  {QUESTION.replace(' ', '  ')}\n", user="someone")
        assert (again["cached"], again["repeats"]) == (True, first["record"])
        assert again["record"] != first["record"]
        log = Log(library.store.database)
        entry = log.entry(again["record"])
        assert entry.caller == "bob"
        assert entry.fields()["outcome"]["repeats"] == first["record"]
        assert len(upstream.requests) == 1
        # Other rights, another word, another temperature: nothing is repeated.
        assert not ask(gateway, eve)["cached"]
        assert not ask(gateway, ada, QUESTION.replace("I", "we"))["cached"]
        assert not ask(gateway, ada, temperature=0.5)["cached"]
        # A person's decision, and any change of documents, end it.
        assert ask(gateway, ada)["cached"]
        Review(log).decide(first["record"], Act.WITHDRAW, reason="Old figure.", by="Ada")
        assert not ask(gateway, ada)["cached"]
        assert ask(gateway, ada)["cached"]
        library.add_input(b"# Lunch\n\nLunch is free.\n", "lunch.md")
        assert not ask(gateway, ada)["cached"]
        text = gateway_metrics(gateway, ada)
    assert 'suffice_cache_requests_total{result="hit",route="default"} 3.0' in text
    assert 'suffice_cache_requests_total{result="miss",route="default"} 6.0' in text
    assert log.verify().whole


def gateway_metrics(gateway: RunningGateway, key: str) -> str:
    import httpx2

    headers = {"authorization": f"Bearer {key}"}
    return httpx2.get(f"{gateway.url}/metrics", headers=headers).text


def test_faults_are_not_repeated_and_the_cache_is_bounded(
    library: Library, upstream: ScriptedUpstream
) -> None:
    key = Principals(library.store.database).create("ada").secret
    now = [0.0]
    with running(library, cached(upstream, entries=1, seconds=60)) as gateway:
        gateway.inner.cache = VerdictCache(library, lambda: now[0])
        plays(upstream, Scripted(status=400, body=b"{}"), says(SERVED))
        with pytest.raises(Exception, match="400"):
            ask(gateway, key)
        assert not ask(gateway, key)["cached"]  # the fault was not kept
        assert ask(gateway, key)["cached"]
        now[0] = 61.0
        assert not ask(gateway, key)["cached"]  # too old
        ask(gateway, key, "When may I work remotely?")
        assert not ask(gateway, key)["cached"]  # one entry only


def test_nothing_is_repeated_by_default(library: Library, upstream: ScriptedUpstream) -> None:
    key = Principals(library.store.database).create("ada").secret
    plays(upstream, says(SERVED))
    with running(library, routes(RouteSettings(upstream=upstream.url))) as gateway:
        assert [ask(gateway, key)["cached"] for _ in range(2)] == [False, False]
