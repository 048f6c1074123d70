"""The command line. It translates; it decides nothing.

Exit codes: 0 done or served, 1 an error, 2 withheld (`ask`, `check`) or some files skipped
(`index`).
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

import click

from suffice import __version__
from suffice.errors import SufficeError

_COMMANDS = {
    "ask": ("suffice.cli.ask", "Answer a question from documents, with citations, or say why not."),
    "audit": ("suffice.cli.audit", "Verify, show, replay and erase what was decided."),
    "bench": (
        "suffice.cli.bench",
        "Measure retrieval, indexing, verifiers, gates and checks on your data.",
    ),
    "config": ("suffice.cli.config", "Check the settings, and show which hold."),
    "check": ("suffice.cli.check", "Say whether an answer stays inside its evidence."),
    "documents": ("suffice.cli.documents", "List, show and retire documents and their versions."),
    "feedback": ("suffice.cli.feedback", "Say what you think of an answer."),
    "eval": ("suffice.cli.evaluate", "Measure the whole path on labelled questions and drafts."),
    "gate": ("suffice.cli.gate", "Say whether documents hold enough to answer a question."),
    "index": ("suffice.cli.index", "Bring documents into a store."),
    "keys": ("suffice.cli.keys", "Make, list and revoke the keys of those who may ask."),
    "mcp": ("suffice.cli.mcp", "Offer evidence, gate and checks to a model as MCP tools."),
    "review": ("suffice.cli.review", "Look at what waits for a person, and decide on it."),
    "search": ("suffice.cli.search", "Find passages."),
    "serve": (
        "suffice.cli.serve",
        "Serve OpenAI's API in front of an LLM, with every answer checked.",
    ),
}


class _Lazy(click.Group):
    """Loads a command's module only when it is called, so that the others start quickly."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(_COMMANDS[name][0]), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(_COMMANDS.items())])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="suffice")
def cli() -> None:
    """Suffice: is the evidence enough to answer, and does the answer stay inside it?"""


def main() -> None:
    """Runs the command line; every error is one clear message, never a traceback."""
    try:
        code = cli.main(standalone_mode=False)
    except SufficeError as problem:
        _report(type(problem).__name__, problem.message, problem.remedy)
        code = 1
    except click.exceptions.NoArgsIsHelpError as problem:
        click.echo(problem.format_message())
        code = 0
    except click.ClickException as problem:
        _report("UsageError", problem.format_message(), "Run with --help to see what is allowed.")
        code = 1
    except (KeyboardInterrupt, click.Abort):
        click.echo("Stopped.", err=True)
        code = 130
    except BrokenPipeError:
        sys.stderr.close()
        code = 1
    except Exception as problem:  # a fault of ours: still one message, and a way to see more
        if os.environ.get("SUFFICE_DEBUG"):
            raise
        message = f"{type(problem).__name__}: {problem}"
        _report("InternalError", message, "Set SUFFICE_DEBUG=1 to see where, and report it.")
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
