"""Suffice: is the evidence enough to answer, and does the answer stay inside it?

>>> import suffice
>>> suffice.open("src/suffice/handbook").ask("How many days per week may I work remotely?").released
>>> suffice.check("Leave is 18 weeks [1].", ["Leave is 16 weeks."]).action
>>> suffice.gate("How long is leave?", ["Leave is 16 weeks."]).level
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from suffice.errors import SufficeError
from suffice.types import (
    Action,
    Citation,
    Claim,
    Draft,
    Evidence,
    Finding,
    GateDecision,
    Kind,
    Level,
    Passage,
    Retrieved,
    Support,
    Verdict,
)

if TYPE_CHECKING:
    from suffice.answers import acheck, check
    from suffice.compat.cautious import CautiousRAG
    from suffice.compat.checker import SufficientContextChecker
    from suffice.corpus import Corpus
    from suffice.corpus import open_corpus as open
    from suffice.engine import Engine
    from suffice.evidence.index import Filter, Found
    from suffice.evidence.library import Library
    from suffice.gate.gate import Gate
    from suffice.integrations import openai as openai
    from suffice.log.log import Log
    from suffice.pipeline import Pipeline
    from suffice.settings import GateSettings, Settings, read_settings

    def gate(
        question: str, passages: Found, settings: GateSettings | None = None
    ) -> GateDecision: ...


__version__ = "0.1.0"

__all__ = [
    "Action",
    "CautiousRAG",
    "Citation",
    "Claim",
    "Corpus",
    "Draft",
    "Engine",
    "Evidence",
    "Filter",
    "Finding",
    "Gate",
    "GateDecision",
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
    "gate",
    "open",
    "read_settings",
]

# Looked up on first use, so that `import suffice` loads no model, no database, no numpy.
_LAZY = {
    "CautiousRAG": "suffice.compat.cautious",
    "Corpus": "suffice.corpus",
    "Engine": "suffice.engine",
    "Filter": "suffice.evidence.index",
    "Gate": "suffice.gate.gate",
    "Library": "suffice.evidence.library",
    "Log": "suffice.log.log",
    "Pipeline": "suffice.pipeline",
    "Settings": "suffice.settings",
    "SufficientContextChecker": "suffice.compat.checker",
    "acheck": "suffice.answers",
    "check": "suffice.answers",
    "read_settings": "suffice.settings",
}


def __getattr__(name: str) -> object:
    if name == "gate":  # a package that can be called
        return import_module("suffice.gate")
    if name == "openai":
        return import_module("suffice.integrations.openai")
    if name == "open":
        return import_module("suffice.corpus").open_corpus
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'suffice' has no attribute '{name}'")
