"""Opens an LLM verifier from the settings, without calling the endpoint."""

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
    """The verifier `inner` with the configured LLM. Only the drafter's URL gets its key."""
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
    endpoint = chat_endpoint(url, key_env, "verdict", settings.total_seconds, settings.retries)
    # Notes are shown to callers, who should not see the URL.
    llm = Llm(replace(endpoint, called="the endpoint"), model)
    return LlmVerifier(inner, llm, settings, Cache(settings.cache_size))
