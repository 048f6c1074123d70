"""Run by test_core_install.py: uses Suffice where only the core packages can be imported."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

HANDBOOK = Path(__file__).parent.parent / "src" / "suffice" / "handbook"
ANSWER, EVIDENCE = "Leave is 18 weeks [1].", "Leave is 16 weeks."


class Blocked:
    """Finds no module of these packages, as if they were not installed."""

    def __init__(self, names: list[str]) -> None:
        self.names = frozenset(names)

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> None:
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


def said(call: Callable[[], object]) -> str:
    from suffice.errors import SufficeError

    try:
        return str(call())
    except SufficeError as problem:
        return str(problem)


def command(*words: str) -> Any:
    """The exit code of a command, or its error."""
    from suffice.cli import cli
    from suffice.errors import SufficeError

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return cli.main(list(words), standalone_mode=False)
        except SufficeError as problem:
            return str(problem)


def library() -> dict[str, str]:
    import suffice
    from suffice.evidence.index import bm25
    from suffice.evidence.read import read_bytes
    from suffice.models.tokens import load_tokenizer

    return {
        "check": suffice.check(ANSWER, [EVIDENCE]).action.value,
        "gate": suffice.gate("How long is leave?", [EVIDENCE]).level.value,
        "open": said(lambda: suffice.open(HANDBOOK)),
        "Library": said(lambda: suffice.Library),
        "Log": said(lambda: suffice.Log),
        "index": said(bm25),
        "pdf": said(lambda: read_bytes(b"%PDF-1.7", ".pdf", "a.pdf")),
        "tokenizer": said(lambda: load_tokenizer(Path("another.json"))),
    }


def commands(folder: Path) -> dict[str, Any]:
    answer, evidence, rows = folder / "answer.txt", folder / "evidence.json", folder / "rows.jsonl"
    answer.write_text(ANSWER, encoding="utf-8")
    evidence.write_text(json.dumps([EVIDENCE]), encoding="utf-8")
    row = {"question": "", "evidence": [EVIDENCE], "answer": ANSWER}
    rows.write_text(json.dumps(row), encoding="utf-8")
    check = ("check", "--answer", str(answer), "--evidence", str(evidence))
    return {
        "command check": command(*check),
        "command recorded check": command(*check, "--store", str(folder / "suffice.db")),
        "command batch": command("batch", "check", str(rows), str(folder / "out.jsonl"), "--quiet"),
        "command config": command("config", "check"),
        "command ask": command("ask", "How long is leave?", "--docs", str(HANDBOOK)),
        "command audit": command("audit", "verify"),
        "command serve": command("serve"),
        "command demo": command("demo"),
        "command mcp": command("mcp"),
    }


def bare() -> list[str]:
    """Modules that fail for a package of the store, index, PDF or tokenizer without a remedy."""
    import suffice
    from suffice.errors import ExtraMissing

    found = []
    for module in pkgutil.walk_packages(suffice.__path__, "suffice.", onerror=lambda name: None):
        if module.name == "suffice.__main__":
            continue
        try:
            importlib.import_module(module.name)
        except ExtraMissing:
            continue
        except ImportError as problem:
            package = str(problem.name).partition(".")[0]
            if package in ("sqlalchemy", "qdrant_edge", "pypdfium2", "tokenizers"):
                found.append(f"{module.name}: {problem}")
    return found


def main() -> None:
    blocked = Blocked(json.load(sys.stdin))
    before = set(sys.modules)  # an environment may load some at startup
    sys.meta_path.insert(0, blocked)
    with TemporaryDirectory() as folder:
        result = {**library(), **commands(Path(folder)), "bare": bare()}
    loaded = sorted({name.partition(".")[0] for name in {*sys.modules} - before} & blocked.names)
    print(json.dumps({**result, "loaded": loaded}))


if __name__ == "__main__":
    main()
