"""Running the app: on a socket, until it is told to stop; SIGHUP reads the settings again."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn

from suffice.evidence.library import Library
from suffice.server.app import create_app
from suffice.server.house import House
from suffice.server.logs import start_logs
from suffice.server.spans import start_tracing
from suffice.settings import Settings

log = logging.getLogger("suffice.server")


@dataclass(frozen=True, slots=True)
class Listening:
    """A socket that is bound, and whether anything is said of it."""

    socket: socket.socket
    quiet: bool = False

    @property
    def url(self) -> str:
        host, port = self.socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def run(
    settings: Settings, library: Library, read: Callable[[], Settings], listening: Listening
) -> None:
    """Serves until SIGTERM or SIGINT; what is under way then is finished."""
    start_logs()
    start_tracing()
    server, limits = settings.server, settings.server.limits
    app = create_app(settings, library, host=server.host)
    house: House = app.state.house
    config = uvicorn.Config(
        app,
        log_level="warning",
        server_header=False,
        h11_max_incomplete_event_size=limits.header_bytes,
        timeout_graceful_shutdown=int(server.stop) + 1,
        lifespan="on",
    )
    _on_hangup(house, read)
    if not listening.quiet:
        _announce(house, listening)
    uvicorn.Server(config).run([listening.socket])


def _on_hangup(house: House, read: Callable[[], Settings]) -> None:
    """The settings are read beside the event loop, which goes on serving with the old ones."""

    def reload() -> None:
        print(house.reload(read), file=sys.stderr, flush=True)

    if hasattr(signal, "SIGHUP"):
        signal.signal(
            signal.SIGHUP, lambda *_: threading.Thread(target=reload, daemon=True).start()
        )


def _announce(house: House, listening: Listening) -> None:
    lines = [f"Suffice serves {listening.url}/v1 (routes: {', '.join(house.state.routes)})."]
    if house.door.open:
        lines.append("No key is asked for: it is reached from this machine alone.")
    elif not house.door.principals.all():
        lines.append("Every request needs a key, and there is none yet: suffice keys create NAME")
    print("\n".join(lines), file=sys.stderr, flush=True)
