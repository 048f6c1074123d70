"""The LLM that the judge calls at an OpenAI-compatible endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from suffice.checks.judge.prompt import Case
from suffice.errors import SettingsError
from suffice.models.chat import STOPPED, chat_body, chat_endpoint, piece
from suffice.models.wire.blocking import ask
from suffice.models.wire.endpoint import Endpoint
from suffice.settings import DraftSettings, JudgeSettings

_JSON = {"response_format": {"type": "json_object"}}
_SHORT = "Raise judge.max_tokens if the model reasons before it answers."


class Llm(Protocol):
    """Replies to a case within a time limit, or raises a `SufficeError`."""

    def reply(self, case: Case, seconds: float) -> str: ...


@dataclass(frozen=True, slots=True)
class Remote:
    """An endpoint that returns replies unchanged. A reply that is cut off raises an error."""

    endpoint: Endpoint
    model: str = ""
    tokens: int = 1024

    def reply(self, case: Case, seconds: float) -> str:
        body = chat_body(self.model, case.messages(), self.tokens)
        content = piece(ask(self.endpoint, body | _JSON, seconds))
        if content.finish in STOPPED:
            raise self.endpoint.problem(f"the reply was cut off ({content.finish})", _SHORT)
        return content.text


def open_llm(settings: JudgeSettings, draft: DraftSettings) -> Llm:
    """The judge's LLM, or else the drafter's LLM and key. The drafter's key is never sent to
    another URL."""
    url = settings.llm or draft.llm
    if not url.startswith(("http://", "https://")):
        raise SettingsError(
            f"checks.judge is on, but no LLM is configured: judge.llm is '{settings.llm}',"
            f" draft.llm is '{draft.llm}'.",
            remedy="Set judge.llm to the base URL of an OpenAI-compatible endpoint.",
        )
    key_env = settings.key_env or ("" if settings.llm else draft.key_env)
    model = settings.model or ("" if settings.llm else draft.model)
    endpoint = chat_endpoint(url, key_env, "judgement", settings.timeout, settings.retries)
    return Remote(endpoint, model, settings.max_tokens)
