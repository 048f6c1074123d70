"""`suffice serve` and `suffice config`, as processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.errors import SettingsError
from suffice.settings import read_settings
from suffice.testing import ScriptedUpstream, slow
from tests.conftest import ROOT
from tests.server.gateway import QUESTION
from tests.waiting import PATIENCE, until

RUN = [sys.executable, "-c", "from suffice.cli import main; main()"]
# Deep checks in the background would load the strong verifier.
OWN = {"PYTHONPATH": str(ROOT / "src"), "SUFFICE_MONITOR__DEEP_SHARE": "0"}
ENVIRON = {**os.environ, **OWN}
PUBLISHED = """
sufficient_context:
  enabled: true
  min_contexts: 2
  thresholds:
    sufficient: 0.7
    partial: 0.4
  require_embeddings: true
  decline_insufficient: false
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUN, *words], capture_output=True, text=True, env=ENVIRON, timeout=120)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "suffice.yaml"
    file.write_text("server:\n  port: 0\n  routes:\n    first: {}\n")
    return file


@pytest.fixture
def served(tmp_path: Path, config: Path) -> Iterator[tuple[Any, str]]:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "remote.md").write_text("# Remote\n\nYou may work remotely 3 days per week.\n")
    words = ["serve", "--docs", str(docs), "--store", str(tmp_path / "s.db"), "--config"]
    process = subprocess.Popen(
        [*RUN, *words, str(config)], stderr=subprocess.PIPE, text=True, env=ENVIRON
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if line.startswith("Suffice serves"):
                yield process, line.split()[2].removesuffix("/v1")
                break
    finally:
        process.terminate()
        process.communicate(timeout=120)


def ready(url: str) -> list[str]:
    """The routes of a gateway that has announced itself, and so accepts connections."""
    names: list[str] = httpx2.get(f"{url}/readyz", timeout=PATIENCE).json()["routes"]
    return names


def test_serves_reloads_and_ends(served: tuple[Any, str], config: Path) -> None:
    process, url = served
    assert ready(url) == ["default", "first"]
    body = {"messages": [{"role": "user", "content": QUESTION}]}
    reply = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=120)
    assert "3 days per week" in reply.json()["choices"][0]["message"]["content"]
    said = process.stderr

    config.write_text("server:\n  port: 0\n  routes:\n    second: {}\n")
    process.send_signal(signal.SIGHUP)
    assert "reloaded: 2 routes" in next(line for line in said if "settings" in line)
    assert ready(url) == ["default", "second"]

    for bad, why in (
        ("server: {prot: 1}", "prot"),
        ("store: other.db", "'store' cannot be changed"),
    ):
        config.write_text(bad)
        process.send_signal(signal.SIGHUP)
        line = next(line for line in said if "settings" in line)
        assert "the old ones stay in effect" in line
        assert why in line
        assert ready(url) == ["default", "second"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) in (0, -signal.SIGTERM)


@pytest.fixture
def slow_one(config: Path) -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream([slow("It is late.", wait=300)]) as upstream:
        route = f"{{upstream: '{upstream.url}', grounding: false}}"
        head = "server:\n  port: 0\n  shutdown_seconds: 1\n  keep_alive_seconds: 0.2\n  routes:\n"
        config.write_text(f"{head}    default: {route}\n")
        yield upstream


def test_what_a_shutdown_does_not_wait_for_is_told_so(
    slow_one: ScriptedUpstream, served: tuple[Any, str]
) -> None:
    process, url = served
    ready(url)

    def ask(stream: bool) -> httpx2.Response:
        body = {"messages": [{"role": "user", "content": QUESTION}], "stream": stream}
        return httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=120)

    with ThreadPoolExecutor(2) as pool:
        whole, streamed = pool.submit(ask, False), pool.submit(ask, True)
        until(lambda: len(slow_one.requests) == 2)
        process.send_signal(signal.SIGTERM)
        assert whole.result(120).status_code == 503
        told = [whole.result().json(), json.loads(streamed.result(120).text.split("data: ")[-1])]
    assert [one["error"]["code"] for one in told] == ["shutting_down"] * 2


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = run("serve", "--port", str(taken.getsockname()[1]), "--llm", "extractive")
    assert told.returncode == 1
    assert "Cannot listen on" in told.stderr


def test_config_check_and_show(tmp_path: Path) -> None:
    file = tmp_path / "suffice.yaml"
    file.write_text(
        "server:\n  routes:\n    default: {upstream: 'http://ada:pw@host/v1?key=abc'}\n"
        "verdict: {gap_webhook: 'https://hooks.example/T0/secret'}\n"
    )
    options = ["--config", str(file)]
    assert CliRunner().invoke(cli, ["config", "check", *options]).exit_code == 0
    shown = CliRunner().invoke(cli, ["config", "show", *options]).stdout
    assert "host/v1" in shown
    for secret in ("pw", "abc", "T0/secret"):
        assert secret not in shown
    file.write_text("server:\n  routes:\n    default: {streaming: magic}\n")
    wrong = run("config", "check", *options)
    assert wrong.returncode == 1
    assert "server.routes.default.streaming" in wrong.stderr


def test_the_published_block_is_accepted_as_written(tmp_path: Path) -> None:
    file = tmp_path / "suffice.yaml"
    file.write_text(PUBLISHED)
    gate = read_settings(file, {}).gate
    assert gate.policy == "coverage"
    coverage = gate.coverage
    assert (coverage.min_contexts, coverage.sufficient, coverage.partial) == (2, 0.7, 0.4)
    assert coverage.require_embeddings
    assert not coverage.decline_insufficient
    file.write_text("sufficient_context: {enabled: false, min_contexts: 9}\n")
    assert read_settings(file, {}).gate.policy == "none"
    file.write_text("sufficient_context: {min_context: 9}\n")
    with pytest.raises(SettingsError, match=r"sufficient_context\.min_context"):
        read_settings(file, {})


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ("sufficient_context: {thresholds: {sufficient: 0.4, partial: 0.5}}", "partial"),
        ("server: {routes: {a: {upstream: 'ftp://x'}}}", r"routes\.a\.upstream"),
        ("server: {council: {judges: [nobody]}}", r"council\.judges"),
    ],
)
def test_what_cannot_hold_is_found_when_it_is_read(tmp_path: Path, said: str, where: str) -> None:
    file = tmp_path / "suffice.yaml"
    file.write_text(said)
    with pytest.raises(SettingsError, match=where):
        read_settings(file, {})


def test_a_route_changes_only_what_it_names(tmp_path: Path) -> None:
    file = tmp_path / "suffice.yaml"
    file.write_text(
        "gate: {policy: tiers}\ncollections:\n  hr: {search: {top_k: 9}}\n"
        "server:\n  routes:\n    hr: {collection: hr, gate: {tiers: {one_passage: 0.9}}}\n"
    )
    route = read_settings(file, {}).server.routes["hr"]
    assert route.own is not None
    assert (route.own.gate.policy, route.own.gate.tiers.one_passage) == ("tiers", 0.9)
    assert route.own.search.top_k == 9
