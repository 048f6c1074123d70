"""Measures the gateway under load: as a plain proxy, with all checks, and at twice its capacity.

Gateway, upstream and load generator are separate processes on loopback, as is LiteLLM's proxy if
installed. The bare models are measured in the same run, as the lower bound for the cost of the
checks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from benchmarks.gateway_cases import bare_models, cases
from benchmarks.servers import HOST, Running, load, start_gateway, start_process
from benchmarks.watch import Watch
from suffice.lab.eval.run_record import run_record
from suffice.settings import Settings

WANTED = {
    "plain_throughput_times": 4.0,
    "plain_added_share": 1 / 3,
    "p95_times_fair": 1.6,
    "share_of_bare": 0.8,
    "memory_growth_percent": 10.0,
    "healthz_p99_ms": 100.0,
    "server_errors": 0,
}
_CASES = 96
_PLAIN = {"model": "canned", "messages": [{"role": "user", "content": "How long is leave?"}]}


@dataclass(frozen=True, slots=True)
class Plan:
    """The duration of each part, and which parts to run."""

    seconds: float = 10.0
    overload: float = 600.0
    clients: int = 16
    litellm: str = ""
    bare: int = 12
    """Number of cases on which the bare models are timed, before and after."""
    hostile: float = 0.01
    """Hostile requests for each ordinary request in the overload."""
    parts: tuple[str, ...] = ("plain", "checked", "overload")


def bench_gateway(plan: Plan) -> dict[str, Any]:
    figures: dict[str, Any] = {"run": run_record(), "wanted": WANTED, "clients": plan.clients}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        upstream = stack.enter_context(start_process("-m", "benchmarks.canned"))
        if "plain" in plan.parts:
            figures["plain"] = _plain(plan, folder, upstream)
        if {"checked", "overload"} & set(plan.parts):
            figures |= _checked(plan, folder, upstream)
    return figures


def _plain(plan: Plan, folder: Path, upstream: Running) -> dict[str, Any]:
    """Added latency with one client, throughput with many; with and without streaming."""
    settings = {
        "record": {"enabled": "never"},
        "server": {"routes": {"default": {"upstream": upstream.url, "grounding": False}}},
    }
    found: dict[str, Any] = {"direct": _driven(plan, upstream)}
    with start_gateway(folder, "plain", settings) as gateway:
        found["suffice"] = _driven(plan, gateway)
    if plan.litellm:
        with _litellm(plan.litellm, folder, upstream) as proxy:
            found["litellm"] = _driven(plan, proxy)
    for way in ("whole", "stream"):
        found[f"{way}_compared"] = compared(found, way)
    return found


def compared(found: dict[str, Any], way: str) -> dict[str, Any]:
    direct, ours = found["direct"][way], found["suffice"][way]
    added = ours["one"]["p50_ms"] - direct["one"]["p50_ms"]
    compared = {"added_ms": round(added, 3), "per_s": ours["many"]["per_s"]}
    if "litellm" in found:
        theirs = found["litellm"][way]
        their_added = theirs["one"]["p50_ms"] - direct["one"]["p50_ms"]
        compared |= {
            "litellm_added_ms": round(their_added, 3),
            "litellm_per_s": theirs["many"]["per_s"],
            "throughput_times": _ratio(ours["many"]["per_s"], theirs["many"]["per_s"]),
            "added_share": _ratio(added, their_added),
        }
    return compared


def _driven(plan: Plan, server: Running) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for way, more in (("whole", {}), ("stream", {"stream": True})):
        bodies = [json.dumps({**_PLAIN, **more})]
        found[way] = {
            "one": load(server, bodies, plan.seconds, clients=1),
            "many": load(server, bodies, plan.seconds, clients=plan.clients),
        }
    return found


def _checked(plan: Plan, folder: Path, upstream: Running) -> dict[str, Any]:
    """Gate and all checks; then twice the load that this sustained."""
    asked = cases(_CASES)
    bodies = [json.dumps(case.body) for case in asked]
    settings = {"server": {"routes": {"default": {"upstream": upstream.url}}}}
    found: dict[str, Any] = {}
    bare = bare_models(asked[: plan.bare], Settings())
    with start_gateway(folder, "checked", settings) as gateway:
        ran = load(gateway, bodies, plan.seconds, clients=plan.clients, checked=True)
        if "overload" in plan.parts:
            found["overload"] = _overloaded(plan, gateway, bodies, ran["per_s"])
    again = bare_models(asked[-plan.bare :], Settings())
    best = max(bare["per_s"], again["per_s"])
    fair = 1e3 * plan.clients / ran["per_s"] if ran["per_s"] else 0.0
    found["checked"] = {
        **ran,
        "bare": [bare, again],
        "bare_per_s": best,
        "share_of_bare": _ratio(ran["per_s"], best),
        "p95_times_fair": _ratio(ran["p95_ms"], fair),
    }
    return found


def _overloaded(plan: Plan, gateway: Running, bodies: Sequence[str], rate: float) -> dict[str, Any]:
    """Twice the capacity of ordinary requests, and hostile requests beside them."""
    with Watch(gateway) as watch:
        ran = load(
            gateway,
            bodies,
            plan.overload,
            rate=2 * rate,
            checked=True,
            warm=0.0,
            hostile=plan.hostile,
        )
    return {
        **ran,
        "rate": round(2 * rate, 2),
        "alive": gateway.process.poll() is None,
        "memory_mb": watch.memory(),
        "healthz": watch.health(),
    }


def _ratio(ours: float, theirs: float) -> float | None:
    return round(ours / theirs, 3) if theirs > 0 else None


def _litellm(command: str, folder: Path, upstream: Running) -> Any:
    config = {
        # Without a key it has less to do: the comparison favours it.
        "general_settings": {"dangerously_permit_weak_or_unset_master_key": True},
        "model_list": [
            {
                "model_name": "canned",
                "litellm_params": {
                    "model": "openai/canned",
                    "api_base": upstream.url,
                    "api_key": "none",
                },
            }
        ],
    }
    file = folder / "litellm.yaml"
    file.write_text(yaml.safe_dump(config))
    log = folder / "litellm.log"
    return start_process("--config", str(file), "--host", HOST, "--port", command=command, log=log)
