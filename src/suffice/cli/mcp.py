"""`suffice mcp`: evidence, gate and checks as tools for a model."""

from __future__ import annotations

import click

from suffice.cli.asking import bring_in
from suffice.cli.options import check_collection, open_library
from suffice.evidence.library import Library
from suffice.mcp.tools import Caller, Tools
from suffice.models.batching import Lanes, SharedEmbedder, shared_verifier
from suffice.models.caching import CachedEmbedder
from suffice.models.catalog import open_verifier
from suffice.record.log import Log
from suffice.settings import Settings, read_settings


@click.command()
@click.option("--docs", help="A folder or a file, indexed as needed.")
@click.option("--store", metavar="FILE_OR_URL", help="File or URL (default: suffice.db).")
@click.option("--collection", default="default", show_default=True, help="Named set.")
@click.option("--label", "labels", multiple=True, help="Access label that callers hold.")
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="Standard input and output, or streamable HTTP at /mcp.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="For http.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8081, show_default=True)
@click.option("--config", type=click.Path(), help="Settings file (default: suffice.yaml).")
@click.option("--caller", default="mcp", show_default=True, help="Who asks, for the record.")
@click.option(
    "--record/--no-record", default=True, help="Keep a record of what is decided (default: yes)."
)
def mcp(
    docs: str | None,
    store: str | None,
    collection: str,
    labels: tuple[str, ...],
    transport: str,
    host: str,
    port: int,
    config: str | None,
    caller: str,
    record: bool,
) -> int:
    """Offer documents, gate and checks to a model, as tools of the Model Context Protocol.

    What a caller may read is what --label names, and what is public. Over http from other machines
    a key is needed (suffice keys create), and its own labels count.
    """
    from suffice.mcp.http import serve_http
    from suffice.mcp.server import open_server

    settings = read_settings(config)
    library = open_library(settings, store, docs)
    if docs is not None:
        # Standard output belongs to the protocol.
        bring_in(library, docs, collection, strict=False, quiet=True)
    check_collection(library.store, collection)
    kept = record and settings.record.enabled != "never"
    log = Log(library.store.database, settings.record) if kept else None
    if log is not None:
        click.get_current_context().call_on_close(log.close)
    tools = _desk(library, settings, collection, log)
    server = open_server(tools, Caller(caller, frozenset(labels)))
    if transport == "stdio":
        server.run("stdio")
    else:
        serve_http(server, tools, settings.server, host, port)
    return 0


def _desk(library: Library, settings: Settings, collection: str, log: Log | None) -> Tools:
    """With models that serve many callers, one run at a time."""
    lanes = Lanes()
    return Tools(
        library,
        CachedEmbedder(SharedEmbedder(library.embedder, lanes)),
        shared_verifier(open_verifier(settings.verifier, "", settings.draft), lanes),
        collection,
        log,
    )
