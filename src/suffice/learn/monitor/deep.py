"""Deep checks: the strongest available verifier checks a recorded draft again.

The configured tier decides within a request. The strong tier and an LLM are slower, so they check a
random share of the answers afterwards. The result is a record about the answer; it does not
change what was released.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from suffice.errors import StoreError
from suffice.learn.monitor.observe import DEEP_CHECK
from suffice.models.catalog import FAST, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.verifier import LLM, Verifier
from suffice.record.about import about
from suffice.record.decision import decision_of
from suffice.record.log import Log
from suffice.record.replay import Replay, stored_documents
from suffice.record.setup import setup_of
from suffice.settings import Settings
from suffice.types import Verdict


def stronger_tier(settings: Settings) -> str:
    """The tier that deep checks use; empty if there is none above the configured one."""
    if settings.verifier.llm.on:
        return LLM
    return "strong" if _can_be_strong(settings) and not settings.verifier.strong else ""


def _can_be_strong(settings: Settings) -> bool:
    return settings.verifier.model == FAST and find_spec("suffice_strong") is not None


def open_deep_verifier(settings: Settings) -> Verifier:
    """The strongest available verifier. An LLM judges every claim, not only those in its band."""
    tier, own = stronger_tier(settings), settings.verifier
    own = replace(own, strong=own.strong or _can_be_strong(settings))
    own = replace(own, llm=replace(own.llm, ask="always")) if tier == LLM else own
    return open_verifier(own, tier, settings.draft)


@dataclass(frozen=True, slots=True)
class DeepChecks:
    """Checks recorded drafts again. Blocking: call it from a thread."""

    log: Log
    embedder: Embedder
    verifier: Verifier

    def check(self, record: str) -> str:
        """Check a recorded answer again and record the result. Return the id of that record, or ""
        if there is no readable draft."""
        entry = self.log.entry(record)
        try:
            decision = decision_of(entry)
        except StoreError:  # parts were erased or are not stored: no later attempt would help
            return ""
        setup, _ = setup_of(self.log.entry(str(entry.fields()["setup"])))
        documents = stored_documents(self.log.database, decision)
        found = Replay(setup, self.embedder, self.verifier, documents).again(decision)
        if decision.verdict is None or found is None or found.draft is None:
            return ""
        result = {
            "verifier": self.verifier.id,
            "tier": self.verifier.tier,
            "was": _numbers(decision.verdict),
            "now": _numbers(found),
        }
        made = about(entry, DEEP_CHECK, result)
        self.log.append(made)
        return made.id


def _numbers(verdict: Verdict) -> dict[str, Any]:
    return {
        "action": verdict.action.value,
        "confidence": verdict.confidence,
        "faithfulness": verdict.faithfulness,
        "fact_score": verdict.fact_score,
    }
