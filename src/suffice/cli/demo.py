"""`suffice demo`: the gateway, the review site and a sample handbook, in one command."""

from __future__ import annotations

import sys
import threading
import webbrowser
from dataclasses import replace
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from suffice.cli.progress import bars
from suffice.errors import ExtraMissing, SettingsError, SourceMissing
from suffice.evidence.library import Library
from suffice.settings import RouteSettings, ServerSettings, Settings, SiteSettings

HOST = "127.0.0.1"


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8090,
    show_default=True,
    help="Port on this machine. If it is in use, another one is chosen.",
)
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option("--empty", is_flag=True, help="Leave out the sample decisions.")
def demo(port: int, no_browser: bool, empty: bool) -> int:
    """Try Suffice in the browser: gateway, review site and a sample handbook.

    Needs no key, no model and no settings, and accepts connections of this machine only. The store
    is temporary: it is deleted when the command ends (Ctrl+C).
    """
    try:
        from suffice.cli.demo_decisions import seed
        from suffice.server.connection import bound
        from suffice.server.gateway import Gateway
        from suffice.server.run import Listening, serve
    except ImportError as problem:
        raise ExtraMissing("The demo", "server") from problem
    try:
        listening = Listening(bound(HOST, port))
    except SettingsError:
        listening = Listening(bound(HOST, 0))
    settings = demo_settings()
    with TemporaryDirectory(prefix="suffice-demo-", ignore_cleanup_errors=True) as folder:
        library = Library.open(Path(folder) / "demo.db", settings, create=True)
        with bars(quiet=False) as progress:
            library.add(handbook(), progress=progress)
            if not empty:
                seed(library, settings, lambda done, total: progress("decisions", done, total))

        def started(gateway: Gateway) -> None:
            url = f"{listening.url}/ui/try"
            print(
                f"The demo runs at {url}\n"
                f"Its API is at {listening.url}/v1 and needs no key. Stop it with Ctrl+C.",
                file=sys.stderr,
                flush=True,
            )
            if not no_browser:  # in a thread: some browsers block until they are closed
                threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

        serve(settings, library, listening.socket, started)
    return 0


def demo_settings() -> Settings:
    """The defaults, whatever settings file lies here: the demo must not touch a real store."""
    route = RouteSettings(upstream="extractive")
    site = SiteSettings(guide=True, local_role="admin")  # its store is temporary
    server = replace(ServerSettings(), host=HOST, routes={"default": route}, site=site)
    return Settings(server=server)


def handbook() -> Path:
    """The sample handbook: in an installed package, or in a checkout."""
    package = Path(str(resources.files("suffice")))
    for folder in (package / "handbook", package.parents[1] / "examples" / "handbook"):
        if folder.is_dir():
            return folder
    raise SourceMissing(
        "The sample handbook is missing from this installation.",
        remedy="Install Suffice again, or serve your own documents: suffice serve --docs FOLDER",
    )
