"""The `Drafter` protocol, and `open_drafter`, which opens the configured drafter."""

from __future__ import annotations

from typing import Protocol

from suffice.draft.extractive import Extractive
from suffice.draft.llm import LlmDrafter
from suffice.draft.reading import PLAIN, Brief
from suffice.errors import SettingsError
from suffice.models.embedder import Embedder
from suffice.models.verifier import Verifier
from suffice.settings import DraftSettings
from suffice.types import Draft, Evidence


class Drafter(Protocol):
    """Writes a draft from the evidence, or declines by returning an empty one."""

    def write(self, evidence: Evidence, brief: Brief = PLAIN) -> Draft: ...


def open_drafter(
    settings: DraftSettings, embedder: Embedder, verifier: Verifier | None = None
) -> Drafter:
    """The drafter named by `draft.llm`: `extractive` or the URL of an endpoint."""
    extractive = Extractive(embedder, settings, verifier)
    if settings.llm == "extractive":
        return extractive
    if settings.llm.startswith(("http://", "https://")):
        return LlmDrafter.open(settings, extractive.rank)
    raise SettingsError(
        f"draft.llm is '{settings.llm}'.",
        remedy="Allowed: extractive, or the base URL of an OpenAI-compatible endpoint.",
    )
