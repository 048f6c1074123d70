"""Measures the gateway under load: as a plain proxy, with all checks, and at twice its capacity.

Gateway, upstream and load generator are separate processes on loopback, as is LiteLLM's proxy if
installed. The bare models are measured in the same run, as the lower bound for the cost of the
checks.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from benchmarks.gateway_cases import bare_models, cases
from benchmarks.load import Job
from suffice.errors import SufficeError
from suffice.eval.run_record import run_record
from suffice.settings import Settings

WANTED = {
    "plain_throughput_times": 3.0,
    "plain_added_share": 1 / 3,
    "p95_times_fair": 2.0,
    "share_of_bare": 0.7,
}
_HOST = "127.0.0.1"
_CHAT = "/v1/chat/completions"
_CASES = 96
_PLAIN = {"model": "canned", "messages": [{"role": "user", "content": "How long is leave?"}]}
_SERVE = "from suffice.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Plan:
    """The duration of each part, and which parts to run."""

    seconds: float = 10.0
    overload: float = 600.0
    clients: int = 16
    litellm: str = ""
    bare: int = 12
    """Number of cases on which the bare models are timed, before and after."""
    parts: tuple[str, ...] = ("plain", "checked", "overload")


def bench_gateway(plan: Plan) -> dict[str, Any]:
    figures: dict[str, Any] = {"run": run_record(), "wanted": WANTED, "clients": plan.clients}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        upstream = stack.enter_context(_process("-m", "benchmarks.canned"))
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
    done = threading.Event()
    sizes: list[int] = []

    def look() -> None:
        while not done.wait(0.5):
            sizes.append(gateway.memory())

    watching = threading.Thread(target=look)
    watching.start()
    try:
        ran = load(gateway, bodies, plan.overload, rate=2 * rate, checked=True, warm=0.0)
    finally:
        done.set()
        watching.join()
    half = len(sizes) // 2
    alive = gateway.process.poll() is None
    memory = {
        "start": sizes[0] if sizes else 0,
        "first_half": max(sizes[:half], default=0),
        "peak": max(sizes, default=0),
        "end": sizes[-1] if sizes else 0,
    }
    return {**ran, "rate": round(2 * rate, 2), "alive": alive, "memory_mb": memory}


def _ratio(ours: float, theirs: float) -> float | None:
    return round(ours / theirs, 3) if theirs > 0 else None


def load(
    server: Running,
    bodies: Sequence[str],
    seconds: float,
    *,
    path: str = _CHAT,
    warm: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The result of a load on one path of a server, made by a process of its own."""
    warm = min(1.0, seconds) if warm is None else warm
    job = Job(_HOST, server.port, path, list(bodies), seconds, warm=warm, **more)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load"],
        input=json.dumps(asdict(job)),
        capture_output=True,
        text=True,
        check=True,
        env=_environment(),
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@dataclass(frozen=True, slots=True)
class Running:
    """A server process of the bench."""

    process: subprocess.Popen[bytes]
    port: int

    @property
    def url(self) -> str:
        return f"http://{_HOST}:{self.port}/v1"

    @property
    def root(self) -> str:
        return f"http://{_HOST}:{self.port}"

    def memory(self) -> int:
        """Current memory in megabytes, including child processes; 0 if the system does not report
        it."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0
        lines = (line for line in status.splitlines() if line.startswith("VmRSS:"))
        return next((int(line.split()[1]) // 1024 for line in lines), 0)


def start_gateway(folder: Path, name: str, settings: dict[str, Any], url: str = "") -> Any:
    """The gateway on a store of its own: a file, or the PostgreSQL at `url`."""
    file, store = folder / f"{name}.yaml", url or str(folder / f"{name}.db")
    index = {"index": str(folder / f"{name}-index")} if url else {}
    file.write_text(yaml.safe_dump({"store": store, **index, **settings}))
    docs = folder / "docs"
    docs.mkdir(exist_ok=True)
    (docs / "note.md").write_text("# Note\n\nThe answers of this bench bring their own passages.\n")
    return _process(
        "-c", _SERVE, "serve", "--config", str(file), "--store", store,
        "--docs", str(docs), "--quiet", "--port", log=folder / f"{name}.log",
    )  # fmt: skip


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
    return _process("--config", str(file), "--host", _HOST, "--port", command=command, log=log)


@contextmanager
def _process(
    *args: str, command: str = sys.executable, log: Path | None = None
) -> Iterator[Running]:
    """Start a server on a free port, passed as its last argument, and wait until it is
    reachable."""
    port = _free_port()
    with ExitStack() as stack:
        out = stack.enter_context(log.open("wb")) if log else subprocess.DEVNULL
        process = subprocess.Popen(
            [command, *args, str(port)], stdout=out, stderr=out, env=_environment()
        )
        try:
            _reached(process, port, log)
            yield Running(process, port)
        finally:
            process.terminate()
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _reached(process: subprocess.Popen[bytes], port: int, log: Path | None) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((_HOST, port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    tail = log.read_text(errors="replace")[-500:] if log else ""
    raise SufficeError(
        f"A server of the bench did not start: {tail}", remedy="Run its command separately."
    )


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((_HOST, 0))
        return int(found.getsockname()[1])


def _environment() -> dict[str, str]:
    """The environment for subprocesses: they import what this process imports."""
    paths = filter(None, sys.path)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SUFFICE_")}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths)}
