"""Suffice: is the evidence enough to answer, and does the answer stay inside it?

>>> from suffice import Library, Pipeline
>>> library = Library.open("suffice.db", create=True)
>>> library.add("examples/handbook")
>>> pipeline = Pipeline.of(library.search(), library.embedder)
>>> pipeline.answer("How many days per week may I work remotely?").released
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from suffice.errors import SufficeError
from suffice.types import Action, Evidence, Kind, Level, Passage, Retrieved, Support, Verdict

if TYPE_CHECKING:
    from suffice.answers import acheck, check
    from suffice.cautious import CautiousRAG
    from suffice.evidence.index import Filter
    from suffice.evidence.library import Library
    from suffice.gate.checker import SufficientContextChecker
    from suffice.gate.gate import Gate
    from suffice.pipeline import Pipeline
    from suffice.record.log import Log
    from suffice.settings import Settings, read_settings

__version__ = "0.1.0"

__all__ = [
    "Action",
    "CautiousRAG",
    "Evidence",
    "Filter",
    "Gate",
    "Kind",
    "Level",
    "Library",
    "Log",
    "Passage",
    "Pipeline",
    "Retrieved",
    "Settings",
    "SufficeError",
    "SufficientContextChecker",
    "Support",
    "Verdict",
    "acheck",
    "check",
    "read_settings",
]

# Looked up on first use, so that `import suffice` loads no model, no database, no numpy.
_LAZY = {
    "CautiousRAG": "suffice.cautious",
    "Filter": "suffice.evidence.index",
    "Gate": "suffice.gate.gate",
    "Library": "suffice.evidence.library",
    "Log": "suffice.record.log",
    "Pipeline": "suffice.pipeline",
    "Settings": "suffice.settings",
    "SufficientContextChecker": "suffice.gate.checker",
    "acheck": "suffice.answers",
    "check": "suffice.answers",
    "read_settings": "suffice.settings",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'suffice' has no attribute '{name}'")
