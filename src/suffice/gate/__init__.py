"""The gate decides whether the evidence is sufficient. All policies implement one protocol.

The package is callable: `suffice.gate(question, passages)` returns a decision.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suffice.evidence.index import Found
    from suffice.settings import GateSettings
    from suffice.types import GateDecision


class _Callable(ModuleType):
    """A package that can be called like the function it is named after."""

    def __call__(
        self, question: str, passages: Found, settings: GateSettings | None = None
    ) -> GateDecision:
        from suffice.gate.gate import Gate

        return Gate(settings=settings).decide(question, passages)


sys.modules[__name__].__class__ = _Callable
