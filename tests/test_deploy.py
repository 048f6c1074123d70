"""The files of deploy/ parse, and name metrics, settings and options that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import tomllib
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts import licences, lock
from suffice.cli import cli
from suffice.server.inference_pool import InferencePool
from suffice.server.telemetry.metrics import Metrics
from suffice.server.telemetry.stats import RequestStats
from suffice.settings import WorkSettings, read_settings
from suffice.types import (
    Action,
    Claim,
    Code,
    Evidence,
    Finding,
    GateDecision,
    Level,
    Rescue,
    Support,
    Verdict,
)

DEPLOY = Path(__file__).parent.parent / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
UNIT = (DEPLOY / "suffice.service").read_text(encoding="utf-8")
IMAGE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
METRIC = re.compile(r"\b((?:suffice|sufficient_context|process)_\w+)(?:\{([^}]*)\})?")
GROUPED = re.compile(r"\bby \(([^)]*)\)")
SCRAPED = {"job", "instance"}
"""Labels that Prometheus adds."""


def read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


def board() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((DEPLOY / "grafana" / "suffice.json").read_text())
    return loaded


def expressions() -> dict[str, str]:
    """Every PromQL expression of the rules and the board, by the name of its rule or panel."""
    rules = [rule for group in read("prometheus/rules.yaml")["groups"] for rule in group["rules"]]
    found = {rule.get("alert") or rule["record"]: str(rule["expr"]) for rule in rules}
    for panel in board()["panels"]:
        for target in panel["targets"]:
            found[f"{panel['title']} {target['refId']}"] = target["expr"]
    for variable in board()["templating"]["list"]:
        if variable["type"] == "query":
            found[f"${variable['name']}"] = variable["definition"]
    return found


@pytest.fixture(scope="module")
def exposed() -> dict[str, set[str]]:
    """The names of `/metrics` with their labels, after a request that counts in every metric."""
    metrics = Metrics(InferencePool(WorkSettings()), lambda: {"default": {"first": "open"}})
    gate = GateDecision(Level.SUFFICIENT, 0.9, "learned")
    claim = Claim("It is so.", 0, 9)
    failed = Finding(claim, "literals", Support.UNCHECKED, code=Code.FAILED)
    verdict = Verdict("?", Action.CAVEAT, "", gate, Evidence(""), findings=(failed,))
    replaced = Verdict("?", Action.CAVEAT, "", gate, Evidence(""), rescue=Rescue.EXTRACTIVE)
    stats = RequestStats("/v1/chat/completions", time.perf_counter(), route="default", tokens_in=1)
    stats.verdicts, stats.timings = [verdict, replaced], {"gate": 0.1}
    stats.upstream, stats.fallbacks = ["timeout"], ["first"]
    metrics.watch(stats)
    known: dict[str, set[str]] = {}
    for line in metrics.text().decode().splitlines():
        if sample := re.match(r"(\w+)(?:\{(.*)\})? ", line):
            labels = set(re.findall(r'(\w+)="', sample[2] or ""))
            known.setdefault(sample[1], set()).update(labels)
    return known


def test_rules_and_board_use_metrics_and_labels_that_exist(exposed: dict[str, set[str]]) -> None:
    named = set()
    for where, expression in expressions().items():
        labels = set()
        for name, selector in METRIC.findall(expression):
            assert name in exposed, f"{where}: /metrics has no {name}"
            named.add(name)
            labels |= exposed[name]
            for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector):
                assert label in exposed[name] | SCRAPED, f"{where}: {name} has no label {label}"
        for grouped in GROUPED.findall(expression) if labels else ():
            for label in re.findall(r"\w+", grouped):
                assert label in labels | SCRAPED, f"{where}: no metric has the label {label}"
    assert len(named) > 10


def test_rules_that_others_use_are_recorded() -> None:
    recorded = {name for name in expressions() if name.startswith("suffice:")}
    used = {
        name for text in expressions().values() for name in re.findall(r"suffice:\w+:\w+", text)
    }
    assert used <= recorded


def test_every_alert_says_what_happened_and_what_to_do() -> None:
    for group in read("prometheus/rules.yaml")["groups"]:
        for rule in group["rules"]:
            if "alert" in rule:
                assert rule["labels"]["severity"] in {"critical", "warning"}
                assert {"summary", "description"} <= rule["annotations"].keys(), rule["alert"]


def test_the_verdicts_and_levels_that_rules_and_board_select_exist() -> None:
    for where, expression in expressions().items():
        for value in re.findall(r'verdict=~?"([^"]+)"', expression):
            for one in value.split("|"):
                assert one in {action.value for action in Action}, where


def test_panels_lie_beside_each_other_and_have_one_id_each() -> None:
    panels = board()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def parsed(words: list[str]) -> dict[str, Any]:
    """The options of a `suffice` command line, or an error of click."""
    command: click.Command = cli
    context = click.Context(cli, info_name="suffice", **cli.context_settings)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words
        command, words = found, words[1:]
    return command.make_context(command.name, list(words), parent=context).params


def test_the_settings_file_is_valid_and_safe_behind_a_proxy() -> None:
    settings = read_settings(DEPLOY / "suffice.yaml", {})
    assert settings.server.keys == "required"
    assert settings.server.host == "127.0.0.1"


def test_compose_starts_the_gateway_after_its_database() -> None:
    compose = read("compose.yaml")
    gateway, database = compose["services"]["gateway"], compose["services"]["db"]
    given = parsed(gateway["command"])
    assert given["docs"] is not None
    assert given["store"] == gateway["environment"]["SUFFICE_STORE"]  # for `compose exec` too
    assert "@db:" in given["store"]
    mounted = {
        volume.rsplit(":", 2)[1 if volume.endswith(":ro") else -1]: volume
        for volume in gateway["volumes"]
    }
    assert given["config"] in mounted
    assert given["docs"] in mounted
    assert gateway["depends_on"]["db"]["condition"] == "service_healthy"
    assert database["healthcheck"]["test"]
    kept = {
        volume.split(":")[0]
        for one in compose["services"].values()
        for volume in one["volumes"]
        if re.match(r"\w+:", volume)
    }
    assert kept == compose["volumes"].keys()
    stop = read_settings(DEPLOY / "suffice.yaml", {}).server.shutdown_seconds
    assert int(gateway["stop_grace_period"].rstrip("s")) > stop + 3


def test_the_image_runs_as_a_user_and_is_probed() -> None:
    last = IMAGE.rpartition("\nFROM ")[2]
    assert IMAGE.count("\nFROM ") == 2
    assert re.search(r"^USER (?!0|root)\d+", last, re.MULTILINE)
    probe = re.search(r"HEALTHCHECK[^\[]*(\[.*\])", last)
    assert probe
    code = json.loads(probe[1])[2]
    compile(code, "HEALTHCHECK", "exec")
    assert f":{read_settings(None, {}).server.port}/healthz" in code
    assert re.search(r"^VOLUME (\S+)", last, re.MULTILINE)[1] == "/var/lib/suffice"  # type: ignore[index]
    variables = dict(re.findall(r"(SUFFICE_\w+)=(\S+)", last))
    settings = read_settings(None, variables)
    assert settings.store.startswith("/var/lib/suffice/")
    assert settings.server.host == "0.0.0.0"
    entry, command = (
        json.loads(one) for one in re.findall(r"^(?:ENTRYPOINT|CMD) (.*)", last, re.M)
    )
    assert entry == ["suffice"]
    parsed(command)


def test_the_image_installs_extras_that_exist_from_files_that_are_sent() -> None:
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    extras = re.search(r"suffice\[([\w,]+)\]", IMAGE)
    assert extras
    assert set(extras[1].split(",")) <= project["optional-dependencies"].keys()
    sent = {
        line[1:]
        for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = {
        name
        for line in re.findall(r"^COPY (?!--from)(.*)", IMAGE, re.MULTILINE)
        for name in line.split()[:-1]
    }
    assert copied == sent
    assert all((DEPLOY.parent / name).exists() for name in copied)


def test_the_image_installs_what_the_lock_file_names_with_its_hashes() -> None:
    assert "--require-hashes -r deploy/requirements.lock" in IMAGE
    assert not lock.problems()
    text = lock.LOCK.read_text(encoding="utf-8")
    entries = text.split("lock.py.\n")[1].replace("\\\n", " ").splitlines()
    assert len(entries) == len(lock.locked()) > len(lock.wanted())
    hashed = re.compile(r"[\w.-]+==[\w.+!-]+( ; [^#]+)?(\s+--hash=sha256:[0-9a-f]{64}){1,2}")
    assert not [entry for entry in entries if not hashed.fullmatch(entry.strip())]
    assert "://" not in text  # no index


def test_a_requirement_that_the_lock_file_does_not_fulfil_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = lock.LOCK.read_text(encoding="utf-8")
    old = tmp_path / "old.lock"
    old.write_text(re.sub(r"^starlette==.*", "starlette==0.45.0 \\\\", text, flags=re.MULTILINE))
    monkeypatch.setattr(lock, "LOCK", old)
    assert [one.split()[:2] for one in lock.problems()] == [["starlette", "0.45.0"]]
    old.write_text("")
    assert len(lock.problems()) == len(lock.wanted())


@pytest.mark.parametrize(
    "base",
    [
        "",
        "python:3.11-slim",
        "python@sha256:abc",
        f"@sha256:{'0' * 64}",
        f"python@sha256:{'0' * 64}",
    ],
)
def test_an_image_is_released_only_on_a_base_with_a_digest(tmp_path: Path, base: str) -> None:
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\necho "$@"\n')
    docker.chmod(0o755)
    command = [str(DEPLOY.parent / "scripts" / "image"), "suffice:1", *([base] if base else [])]
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ran = subprocess.run(command, env=path, capture_output=True, text=True, check=False)
    if base.startswith("python@") and len(base) > 64:
        assert ran.returncode == 0
        assert f"--build-arg BASE={base} --tag suffice:1" in ran.stdout
    else:
        assert ran.returncode == 2
        assert not ran.stdout
        assert "by its digest" in ran.stderr
    assert set(re.findall(r"^FROM (\S+)", IMAGE, re.MULTILINE)) == {"${BASE}"}


def test_lower_bounds_are_given_and_hold_for_what_is_installed() -> None:
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    for line in [*project["dependencies"], *chain(*project["optional-dependencies"].values())]:
        one = Requirement(line)
        own = one.name.startswith("suffice") or one.name == "types-PyYAML"
        assert own or any(bound.operator == ">=" for bound in one.specifier), line
    for line in project["dependencies"]:
        one = Requirement(line)
        assert version(one.name) in one.specifier, line


def test_the_licences_of_all_that_is_installed_or_brought_are_listed() -> None:
    page = licences.PAGE.read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| ([\w.-]+) \|", page, re.MULTILINE))
    assert set(lock.locked()) <= listed
    assert {canonicalize_name(Requirement(line).name) for line in lock.wanted()} <= listed
    for row in licences.brought():
        assert f"| {' | '.join(row)} |" in page


def test_the_unit_calls_commands_and_options_that_exist() -> None:
    calls = re.findall(
        r"^Exec(?:StartPre|Start)=/opt/suffice/bin/suffice (.*)$", UNIT, re.MULTILINE
    )
    assert len(calls) == 2
    for call in calls:
        parsed(call.split())
    stop = re.search(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    settings = read_settings(DEPLOY / "suffice.yaml", {})
    assert stop
    assert int(stop[1]) > settings.server.shutdown_seconds + 5
    state = re.search(r"^StateDirectory=(\w+)$", UNIT, re.MULTILINE)
    assert state
    assert settings.store.startswith(f"/var/lib/{state[1]}/")


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
def test_promtool_accepts_the_rules_and_their_tests() -> None:
    for arguments in (["check", "rules", "rules.yaml"], ["test", "rules", "rules_test.yaml"]):
        ran = subprocess.run(
            ["promtool", *arguments], cwd=PROMETHEUS, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "suffice.service"
    unit.write_text(UNIT.replace("/opt/suffice/bin/suffice", shutil.which("true") or "/bin/true"))
    ran = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "suffice.service" not in ran.stderr, ran.stderr
