"""Server processes of the benchmarks on loopback, and the load on them from another process."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.load import Job
from suffice.errors import SufficeError

HOST = "127.0.0.1"
CHAT = "/v1/chat/completions"
_SERVE = "from suffice.cli import main; main()"


def load(
    server: Running,
    bodies: Sequence[str],
    seconds: float,
    *,
    path: str = CHAT,
    warm: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The result of a load on one path of a server, made by a process of its own."""
    warm = min(1.0, seconds) if warm is None else warm
    job = Job(HOST, server.port, path, list(bodies), seconds, warm=warm, **more)
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
        return f"http://{HOST}:{self.port}/v1"

    @property
    def root(self) -> str:
        return f"http://{HOST}:{self.port}"

    def memory(self) -> int:
        """Current memory of the process in megabytes; 0 if the system does not report it."""
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
    return start_process(
        "-c", _SERVE, "serve", "--config", str(file), "--store", store,
        "--docs", str(docs), "--quiet", "--port", log=folder / f"{name}.log",
    )  # fmt: skip


@contextmanager
def start_process(
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
            if probe.connect_ex((HOST, port)) == 0:
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
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def _environment() -> dict[str, str]:
    """The environment for subprocesses: they import what this process imports."""
    paths = filter(None, sys.path)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SUFFICE_")}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths)}
