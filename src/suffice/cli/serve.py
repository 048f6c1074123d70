"""`suffice serve`: run the gateway in front of an LLM."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click

from suffice.cli.asking import VERIFY
from suffice.cli.options import DEFAULT, Options, open_library, shared
from suffice.cli.progress import bars
from suffice.cli.show import show_failures
from suffice.errors import ExtraMissing, SourceMissing
from suffice.evidence.library import Library
from suffice.settings import RouteSettings, Settings, read_settings


@click.command()
@click.option("--docs", help="Folder or file to index before serving.")
@shared("store")
@click.option("--llm", help="Upstream of the default route: extractive, or an LLM's base URL.")
@VERIFY
@click.option("--host", help="Address to listen on (default: server.host).")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port (default: server.port).")
@click.option(
    "--workers", type=click.IntRange(1, 256), help="Number of processes (default: server.workers)."
)
@shared("config")
@click.option("--quiet", is_flag=True, help="No progress bars and no startup message.")
def serve(
    options: Options,
    docs: str | None,
    llm: str | None,
    verify: bool,
    host: str | None,
    port: int | None,
    workers: int | None,
    quiet: bool,
) -> int:
    """Run the OpenAI-compatible gateway, which checks every answer before it is released.

    SIGHUP reloads the settings. SIGTERM finishes the requests in progress, then stops. With several
    workers, a worker that dies is replaced.
    """
    try:
        from suffice.server.run import Listening, bound, run
        from suffice.server.workers import Workers
    except ImportError as problem:
        raise ExtraMissing("The gateway", "server") from problem
    read = partial(_settings, options.config, llm, verify, host, port, workers)
    settings = read()
    listening = Listening(bound(settings.server.host, settings.server.port), quiet=quiet)
    library = _library(options.store, settings, docs)
    if docs is not None:
        _bring_in(library, docs, quiet=quiet)
    if settings.server.workers == 1:
        run(settings, library, read, listening)
        return 0
    library.store.close()  # each worker opens its own
    Workers(settings, partial(_library, options.store, docs=docs), read, listening).run()
    return 0


def _library(store: str | None, settings: Settings, docs: str | None = None) -> Library:
    routes = settings.server.routes.values()
    indexed = any(route.grounding and route.evidence != "request" for route in routes)
    return open_library(settings, store, docs, create=not indexed)


def _settings(
    config: str | None,
    llm: str | None,
    verify: bool,
    host: str | None,
    port: int | None,
    workers: int | None,
) -> Settings:
    """Read the settings and apply the command line options; a reload applies them again."""
    settings = read_settings(config)
    server = settings.server
    server = replace(
        server,
        host=host or server.host,
        port=server.port if port is None else port,
        workers=workers or server.workers,
    )
    if llm:
        route = replace(server.routes.get(DEFAULT, RouteSettings()), upstream=llm, upstreams={})
        server = replace(server, routes={**server.routes, DEFAULT: route})
        settings = _verified_by(settings, route) if verify else settings
    return replace(settings, server=server)


def _verified_by(settings: Settings, route: RouteSettings) -> Settings:
    """The settings with an LLM verifier: the one they name, or else the route's upstream."""
    verifier, draft = settings.verifier, settings.collection(route.collection).draft
    model, key_env = route.model or draft.model, route.key_env or draft.key_env
    llm = verifier.llm.by_drafter(route.upstream, model, key_env)
    return replace(settings, verifier=replace(verifier, llm=llm))


def _bring_in(library: Library, docs: str, *, quiet: bool) -> None:
    with bars(quiet=quiet) as progress:
        report = library.add(docs, progress=progress)
    if report.failures and not report.added + report.changed + report.unchanged:
        raise SourceMissing(f"No file in {docs} could be read.", remedy=report.failures[0].reason)
    show_failures(report)
