"""`suffice mcp`: serve search, gate and checks to a model as MCP tools."""

from __future__ import annotations

import click

from suffice.access.quotas import Ledger
from suffice.cli.asking import bring_in
from suffice.cli.options import Options, check_collection, shared
from suffice.engine import Engine
from suffice.log.log import Log
from suffice.server.mcp.tools import ToolCaller, Tools


@click.command()
@click.option("--docs", help="Folder or file to index first, if needed.")
@shared("store", "collection")
@click.option(
    "--label", "labels", multiple=True, help="Access label that callers hold (repeatable)."
)
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="Standard input and output, or streamable HTTP at /mcp.",
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on, for http."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8081,
    show_default=True,
    help="Port to listen on, for http.",
)
@shared("config")
@click.option("--caller", default="mcp", show_default=True, help="Caller name in the record.")
@click.option(
    "--record/--no-record", default=True, help="Record decisions in the store's log (default: yes)."
)
def mcp(
    options: Options,
    docs: str | None,
    labels: tuple[str, ...],
    transport: str,
    host: str,
    port: int,
    caller: str,
    record: bool,
) -> int:
    """Serve search, gate and checks to a model as tools of the Model Context Protocol.

    Callers can read public documents and those with a label given by --label. Over http, requests
    from other machines need an API key (suffice keys create), and the key's labels apply instead.
    """
    from suffice.server.mcp.http import serve_http
    from suffice.server.mcp.server import open_server
    from suffice.server.telemetry.logs import access_log, start_logs
    from suffice.server.telemetry.metrics import usage_watch

    settings = options.settings
    library = options.library(docs)
    if docs is not None:
        # The protocol uses standard output.
        bring_in(library, docs, options.collection, strict=False, quiet=True)
    check_collection(library.store, options.collection)
    kept = record and settings.record.enabled != "never"
    log = Log(library.store.database, settings.record) if kept else None
    if log is not None:
        click.get_current_context().call_on_close(log.close)
    tools = Tools(Engine(settings, library, log, shared=True), options.collection)
    ledger = Ledger(library.store.database)
    click.get_current_context().call_on_close(ledger.close)
    text = settings.server.log_text
    start_logs(text=lambda: text, others=("mcp",))
    watches = (access_log(lambda: text), usage_watch(ledger))
    server = open_server(tools, ToolCaller(caller, frozenset(labels)), watches)
    if transport == "stdio":
        server.run("stdio")
    else:
        serve_http(server, tools, settings.server, host, port)
    return 0
