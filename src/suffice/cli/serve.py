"""`suffice serve`: the gateway, in front of any LLM."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click

from suffice.cli.options import DEFAULT, open_library
from suffice.cli.progress import bars
from suffice.cli.show import show_failures
from suffice.errors import ExtraMissing, SourceMissing
from suffice.evidence.library import Library
from suffice.settings import RouteSettings, Settings, read_settings


@click.command()
@click.option("--docs", help="A folder or a file, brought in before serving.")
@click.option("--store", metavar="FILE_OR_URL", help="File or URL (default: suffice.db).")
@click.option("--llm", help="Who writes on the default route: extractive or a base URL.")
@click.option("--host", help="The address to listen on (default: server.host).")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port (default: server.port).")
@click.option("--workers", type=click.IntRange(1, 256), help="Processes (default: server.workers).")
@click.option("--config", type=click.Path(), help="Settings file (default: suffice.yaml).")
@click.option("--quiet", is_flag=True, help="No progress bars, no word on what is served.")
def serve(
    docs: str | None,
    store: str | None,
    llm: str | None,
    host: str | None,
    port: int | None,
    workers: int | None,
    config: str | None,
    quiet: bool,
) -> int:
    """Serve OpenAI's API in front of an LLM, and let nothing unverified through.

    SIGHUP reads the settings again. SIGTERM finishes what is under way. With several workers, one
    that dies is replaced.
    """
    try:
        from suffice.server.connection import bound
        from suffice.server.run import Listening, run
        from suffice.server.workers import Workers
    except ImportError as problem:
        raise ExtraMissing("Serving", "server") from problem
    read = partial(_settings, config, llm, host, port, workers)
    settings = read()
    listening = Listening(bound(settings.server.host, settings.server.port), quiet=quiet)
    library = _library(store, settings, docs)
    if docs is not None:
        _bring_in(library, docs, quiet=quiet)
    if settings.server.workers == 1:
        run(settings, library, read, listening)
        return 0
    library.store.close()  # each worker has its own
    Workers(settings, partial(_library, store, docs=docs), read, listening).run()
    return 0


def _library(store: str | None, settings: Settings, docs: str | None = None) -> Library:
    routes = settings.server.routes.values()
    indexed = any(one.grounding and one.evidence != "request" for one in routes)
    return open_library(settings, store, docs, create=not indexed)


def _settings(
    config: str | None, llm: str | None, host: str | None, port: int | None, workers: int | None
) -> Settings:
    """The settings with what the command line names; a reload keeps that."""
    settings = read_settings(config)
    server = settings.server
    server = replace(
        server,
        host=host or server.host,
        port=server.port if port is None else port,
        workers=workers or server.workers,
    )
    if llm:
        route = replace(server.routes.get(DEFAULT, RouteSettings()), upstream=llm)
        server = replace(server, routes={**server.routes, DEFAULT: route})
    return replace(settings, server=server)


def _bring_in(library: Library, docs: str, *, quiet: bool) -> None:
    with bars(quiet=quiet) as progress:
        report = library.add(docs, progress=progress)
    if report.failures and not report.added + report.changed + report.unchanged:
        raise SourceMissing(f"Nothing in {docs} could be read.", remedy=report.failures[0].reason)
    show_failures(report)
