"""From the settings to an LLM that verifies; nothing is asked yet."""

from __future__ import annotations

from dataclasses import replace

from suffice.errors import SettingsError
from suffice.models.chat import chat_endpoint
from suffice.models.llm.ask import Llm
from suffice.models.llm.cache import Cache
from suffice.models.llm.verifier import LlmVerifier
from suffice.models.verifier import Verifier
from suffice.settings import DraftSettings, LlmSettings

DRAFT = "draft"
_REMEDY = "Set verifier.llm.url to the base URL of an OpenAI-compatible endpoint."


def open_llm_verifier(
    inner: Verifier, settings: LlmSettings, draft: DraftSettings | None = None
) -> LlmVerifier:
    """`inner` with the LLM that the settings name. The drafter's key goes to the drafter's URL and
    to no other."""
    shared = draft if settings.url == DRAFT else None
    url = shared.llm if shared else settings.url
    if not url.startswith(("http://", "https://")):
        raise SettingsError(
            f"No LLM is configured for verification: verifier.llm.url is '{settings.url}'"
            + (f", and draft.llm is '{shared.llm}'." if shared else "."),
            remedy=_REMEDY,
        )
    key_env = settings.key_env or (shared.key_env if shared else "")
    model = settings.model or (shared.model if shared else "")
    endpoint = chat_endpoint(url, key_env, "verdict", settings.seconds, settings.retries)
    # Notes are shown to callers, who need not know its URL.
    llm = Llm(replace(endpoint, called="the endpoint"), model)
    return LlmVerifier(inner, llm, settings, Cache(settings.cache))
