"""An adapter without its package says which extra to install."""

from __future__ import annotations

import importlib
import sys
import tomllib
from pathlib import Path

import pytest

from suffice.errors import ExtraMissing

ROOT = Path(__file__).parent.parent.parent
NEEDED = {
    "haystack": ("haystack", "haystack"),
    "langchain": ("langchain_core", "langchain"),
    "litellm": ("litellm", "litellm"),
    "llamaindex": ("llama_index", "llamaindex"),
    "openai": ("openai", "openai"),
    "pgvector": ("psycopg", "postgres"),
    "remote_folder": ("fsspec", "s3"),
}


@pytest.mark.parametrize("module", sorted(NEEDED))
def test_a_missing_package_names_its_extra(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, extra = NEEDED[module]
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"suffice.integrations.{module}", raising=False)
    with pytest.raises(ExtraMissing, match=rf"pip install 'suffice\[{extra}\]'"):
        importlib.import_module(f"suffice.integrations.{module}")


def test_the_extras_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {extra for _, extra in NEEDED.values()} <= set(project["optional-dependencies"])
