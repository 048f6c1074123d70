"""`suffice config`: validate the settings and show the effective values."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click
import yaml

from suffice.cli import as_json as to_json
from suffice.cli.options import Options, shared
from suffice.errors import ExtraMissing, SufficeError
from suffice.settings import Settings
from suffice.settings.reader import masked
from suffice.verdict.route import read_routes

_URL = ("http://", "https://")


@click.group()
def config() -> None:
    """Validate the settings and show the effective values."""


@config.command()
@shared("config", "as_json")
def check(options: Options) -> int:
    """Validate the settings file and report the first error."""
    settings = options.settings
    for name in ("", *settings.collections):
        read_routes(settings.collection(name).verdict.routes)
    for route in settings.server.routes.values():
        if route.own:
            read_routes(route.own.verdict.routes)
    routes, unset = list(settings.server.routes), list(_unset(settings))
    if options.as_json:
        known = {"routes": routes, "collections": list(settings.collections)}
        to_json.show({"valid": True, **known, "unset": unset})
    else:
        click.echo(f"The settings are valid. Routes: {', '.join(routes)}.")
        for one in unset:
            click.echo(f"Warning: {one}", err=True)
    return 0


def _unset(settings: Settings) -> Iterator[str]:
    """Warnings about environment variables for API keys or secrets that are not set."""
    named: list[tuple[str, str, str]] = []
    for name, route in settings.server.routes.items():
        own = route.own or settings.collection(route.collection)
        where = f"server.routes.{name}"
        key = route.key_env or own.draft.key_env
        named.append((f"{where}.key_env", route.upstream or own.draft.llm, key))
        named += (
            (f"{where}.upstreams.{n}.key_env", one.url, one.key_env)
            for n, one in route.upstreams.items()
        )
        if own.checks.judge:
            named.append((f"{where}.judge.key_env", own.judge.llm, own.judge.key_env))
    named.append(("embedder.key_env", settings.embedder.model, settings.embedder.key_env))
    for where, url, variable in dict.fromkeys(named):
        if url.startswith(_URL) and variable and not os.environ.get(variable, "").strip():
            yield (
                f"{where} names the environment variable {variable}, which is not set: {url} is "
                "called without a key."
            )
    try:
        from suffice.access.identity import Identities
    except ExtraMissing:  # no store, so no gateway
        return
    try:
        Identities.of(settings)
    except SufficeError as problem:
        yield f"The gateway will not start: {problem}"


@config.command()
@shared("config", "as_json")
def show(options: Options) -> int:
    """Show the effective value of every setting, with secrets masked."""
    tree = masked(options.settings)
    if options.as_json:
        to_json.show(tree)
    else:
        click.echo(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True), nl=False)
    return 0
