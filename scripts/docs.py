"""Writes the generated parts of docs/: the command line from its own help, the settings from the
code, the figures from results/. A test fails when a page is not what this command would write.

Run: .venv/bin/python scripts/docs.py
"""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from suffice.cli import cli
from suffice.models.card import read_card
from suffice.models.catalog import EMBEDDERS, weights
from suffice.settings import Settings

DOCS = Path(__file__).parent.parent / "docs"
RESULTS = DOCS.parent / "results"
BEGIN, END = "<!-- generated: {} -->", "<!-- end -->"


def main() -> None:
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Every page that has a generated part, as it should be."""
    parts = {
        "commands": ("cli.md", "\n".join(commands())),
        "keys": ("settings.md", "\n".join(keys())),
        "embedder": ("models.md", "\n".join(embedder())),
        "retrieval": ("bench.md", "\n".join(retrieval())),
        "indexing": ("bench.md", "\n".join(indexing())),
    }
    found: dict[str, str] = {}
    for part, (name, text) in parts.items():
        page = found.get(name) or (DOCS / name).read_text(encoding="utf-8")
        begin = BEGIN.format(part)
        head, _, rest = page.partition(begin)
        _, _, tail = rest.partition(END)
        found[name] = f"{head}{begin}\n\n{text.strip()}\n\n{END}{tail}"
    return found


def commands() -> Iterator[str]:
    context = click.Context(cli, info_name="suffice", **cli.context_settings)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        yield from _help(command, click.Context(command, info_name=name, parent=context))


def _help(command: click.Command, context: click.Context) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _help(inner, click.Context(inner, info_name=name, parent=context))
        return
    context.max_content_width = 90
    yield f"### `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```\n"


def keys() -> Iterator[str]:
    yield "| key | default | allowed |\n|---|---|---|"
    yield from _keys(Settings(), "")


def _keys(value: Any, where: str) -> Iterator[str]:
    hints = typing.get_type_hints(type(value), include_extras=True)
    for field in fields(value):
        key, entry = f"{where}{field.name}", getattr(value, field.name)
        if is_dataclass(entry):
            yield from _keys(entry, f"{key}.")
        elif field.name == "collections":
            yield f"| `{key}.NAME` | | `passages`, `search`, `gate` and `draft` of its own |"
        else:
            yield f"| `{key}` | `{entry!r}` | {_allowed(hints[field.name])} |"


def _allowed(hint: Any) -> str:
    if typing.get_origin(hint) is Annotated:
        return str(typing.get_args(hint)[1])
    if typing.get_origin(hint) is Literal:
        return ", ".join(f"`{value}`" for value in typing.get_args(hint))
    return {str: "text", bool: "true or false"}[hint]


def embedder() -> Iterator[str]:
    card = read_card(weights(EMBEDDERS[0])).raw
    for name, row in card["measured"]["cosine_to_fp32"].items():
        figures = f"mean {row['mean']}, least {row['min']}"
        yield f"- cosine to fp32 on {name} ({row['texts']} texts): {figures}"
    yield ""
    results = json.loads((RESULTS / "embedder.json").read_text(encoding="utf-8"))
    yield "| variant | MB | time, 128 tokens | cosine to fp32, mean / min | batch difference |"
    yield "|---|---|---|---|---|"
    for row in results["variants"]:
        time, difference = row["time_to_fp32_fused"]["1x128"], row["invariance_max_diff"]
        yield (
            f"| {row['variant']} | {row['bytes'] / 1e6:.1f} | {time:.2f} "
            f"| {row['cosine_mean']:.4f} / {row['cosine_min']:.4f} | {difference:.1g} |"
        )


def indexing() -> Iterator[str]:
    results = json.loads((RESULTS / "indexing.json").read_text(encoding="utf-8"))
    yield (
        f"400 SciFact abstracts as files, {results['passages']:,} passages, two ARM cores "
        f"(`results/indexing.json`): ratio {results['ratio']:.2f}, peak memory "
        f"{results['peak_memory_mb']} MB."
    )


def retrieval() -> Iterator[str]:
    results = json.loads((RESULTS / "retrieval-scifact.json").read_text(encoding="utf-8"))
    yield "| | nDCG@10 | recall@100 | p50 ms | p95 ms |\n|---|---|---|---|---|"
    for way in ("hybrid", "bm25", "dense"):
        row = results[way]
        yield (
            f"| {way} | {row['ndcg@10']:.3f} | {row['recall@100']:.3f} "
            f"| {row['p50_ms']:.1f} | {row['p95_ms']:.1f} |"
        )
    yield ""
    yield f"{results['passages']:,} passages, {results['queries']} queries."


if __name__ == "__main__":
    main()
