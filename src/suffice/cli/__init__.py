"""The command line: parses options, calls the library and renders the result.

Exit codes: 0 for success, 1 for an error, 2 for a negative result, for example an answer that is
withheld (`ask`, `check`) or files that were skipped (`index`). docs/reference/cli.md lists them.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from suffice import __version__
from suffice.errors import ExtraMissing, SufficeError

_COMMANDS = {
    "accounts": ("suffice.cli.accounts", "Add, list and disable accounts of the review site."),
    "ask": ("suffice.cli.asking", "Answer a question from documents with citations, or refuse."),
    "audit": ("suffice.cli.audit", "Verify, inspect, replay and erase recorded decisions."),
    "batch": ("suffice.cli.batch", "Check or gate many rows, also on a Ray cluster."),
    "bench": ("suffice.cli.bench", "Measure retrieval, verifiers, gates and checks on your data."),
    "calibrate": (
        "suffice.cli.calibrate",
        "Choose thresholds from labels that bound the error rate of served answers.",
    ),
    "config": ("suffice.cli.config", "Validate the settings and show the effective values."),
    "check": ("suffice.cli.check", "Check whether an answer is supported by its evidence."),
    "demo": (
        "suffice.cli.demo",
        "Try Suffice in the browser: gateway, review site and a sample handbook.",
    ),
    "documents": ("suffice.cli.documents", "List, show and retire documents and their versions."),
    "feedback": ("suffice.cli.review", "Rate an answer."),
    "eval": ("suffice.cli.evaluate", "Evaluate the pipeline on labelled questions and drafts."),
    "gaps": ("suffice.cli.golden", "List topics that the documents do not cover, as a backlog."),
    "gate": ("suffice.cli.asking", "Check whether the documents suffice to answer a question."),
    "golden": ("suffice.cli.golden", "Run a golden set of questions and detect regressions."),
    "index": ("suffice.cli.documents", "Index documents into a store."),
    "keys": ("suffice.cli.keys", "Create, list and revoke API keys."),
    "mcp": ("suffice.cli.mcp", "Serve search, gate and checks to a model as MCP tools."),
    "monitor": ("suffice.cli.monitor", "Show metrics, alarms and the guarantee of the thresholds."),
    "redteam": (
        "suffice.cli.redteam",
        "Attack the system with cases generated from your documents.",
    ),
    "review": ("suffice.cli.review", "List decisions that await human review, and decide them."),
    "search": ("suffice.cli.asking", "Search for passages."),
    "serve": (
        "suffice.cli.serve",
        "Run the OpenAI-compatible gateway, which checks every answer of an LLM.",
    ),
    "show": ("suffice.cli.show_record", "Show a recorded decision, also as Markdown for a ticket."),
    "teams": ("suffice.cli.keys", "Set, list and remove teams of keys that share a budget."),
    "usage": (
        "suffice.cli.usage",
        "Report requests, tokens and verdicts by key, team, user or model.",
    ),
    "webhooks": ("suffice.cli.usage", "List and retry webhook deliveries."),
}
# Commands that need more than the store: their message names the extra that brings both.
_ROOMS = {
    "accounts": ("The review site", "server"),
    "demo": ("The demo", "server"),
    "mcp": ("The MCP server", "mcp"),
    "serve": ("The gateway", "server"),
}


class _Lazy(click.Group):
    """Imports a command's module only when the command runs, which keeps startup fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        try:
            command: click.Command = getattr(import_module(_COMMANDS[name][0]), name)
        except ExtraMissing as problem:
            if name in _ROOMS:
                raise ExtraMissing(*_ROOMS[name]) from problem
            raise
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names of commands and options, without importing any command."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, (_, text) in sorted(_COMMANDS.items())
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(_COMMANDS.items())])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="suffice")
def cli() -> None:
    """Suffice checks that the evidence suffices to answer and that it supports the answer."""


def main() -> None:
    """Run `suffice`."""
    run(cli)


def run(command: click.Command) -> NoReturn:
    """Run a command and report every error as one message without a traceback."""
    try:
        code = command.main(standalone_mode=False)
    except SufficeError as problem:
        said = getattr(problem, "detail", "")  # the remote model's error message
        message = f"{problem.message} The server says: {said}" if said else problem.message
        _report(type(problem).__name__, message, problem.remedy)
        code = 1
    except click.exceptions.NoArgsIsHelpError as problem:
        click.echo(problem.format_message())
        code = 0
    except click.ClickException as problem:
        _report(
            "UsageError", problem.format_message(), "Run the command with --help for its usage."
        )
        code = 1
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        code = 130
    except BrokenPipeError:
        sys.stderr.close()
        code = 1
    except Exception as problem:  # a bug in Suffice: SUFFICE_DEBUG shows the traceback
        if os.environ.get("SUFFICE_DEBUG"):
            raise
        message = f"{type(problem).__name__}: {problem}"
        remedy = "This is a bug. Set SUFFICE_DEBUG=1 for the traceback, and report it."
        _report("InternalError", message, remedy)
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _report(kind: str, message: str, remedy: str) -> None:
    if "--json" in sys.argv:
        error = {"type": kind, "message": message, "remedy": remedy}
        click.echo(json.dumps({"error": error}))
        return
    click.echo(f"{click.style('Error:', fg='red', bold=True)} {message}", err=True)
    if remedy:
        click.echo(f"  {remedy}", err=True)
