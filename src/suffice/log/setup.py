"""The setup: the settings, models and package versions that decisions were made with.

A setup is a separate record. It is written once, and decisions refer to it by its hash.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from suffice.errors import StoreError
from suffice.log.chain import canonical, digest
from suffice.log.decision import Filing, plain, value_of
from suffice.log.record import Record
from suffice.settings import CollectionSettings, EmbedderSettings, Settings, VerifierSettings
from suffice.verdict.thresholds import certified

if TYPE_CHECKING:
    from suffice.log.record import Entry

SETUP = "setup"
PIPELINE, ANSWERS = "pipeline", "answers"
_PACKAGES = (
    "suffice onnxruntime tokenizers numpy qdrant-edge-py sqlalchemy suffice-strong huggingface_hub"
).split()
_USER = re.compile(r"(?<=://)[^/?#@]*@")


@dataclass(frozen=True, slots=True)
class Setup:
    """A setup. `door` is the entry point: "pipeline", or "answers" for `check`; `options` are the
    options used there in addition to the settings."""

    settings: CollectionSettings = field(default_factory=CollectionSettings)
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
    verifier: VerifierSettings = field(default_factory=VerifierSettings)
    models: Mapping[str, str] = field(default_factory=dict)
    """The ids of embedder and verifier, which identify their weights exactly."""
    door: str = PIPELINE
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        settings: Settings,
        collection: CollectionSettings,
        embedder: str,
        verifier: str,
        **more: Any,
    ) -> Setup:
        """The setup of decisions on a collection, with the ids of the models. Certified thresholds
        cover only decisions with a gate, so `check` does not use them."""
        models = {"embedder": embedder, "verifier": verifier}
        if more.get("door", PIPELINE) == PIPELINE:
            collection = certified(collection, models)
        return cls(collection, settings.embedder, settings.verifier, models, **more)

    def filing(self, caller: str = "", tag: str = "") -> Filing:
        """The metadata of decisions made with this setup."""
        return Filing(caller, tag, self.record(), self.settings.verdict.certificate)

    def record(self) -> Record:
        """The setup record; its id is a hash of its content, so it is written only once."""
        content = {
            "settings": plain(_without_secrets(self.settings), whole=True),
            "embedder": plain(_without_secrets(self.embedder), whole=True),
            "verifier": plain(_without_secrets(self.verifier), whole=True),
            "models": dict(self.models),
            "door": self.door,
            "options": dict(self.options),
            "packages": versions(),
        }
        name = digest(canonical(content).encode()).partition(":")[2][:32]
        return Record(SETUP, content, id=f"{SETUP}-{name}", once=True)


def setup_of(entry: Entry) -> tuple[Setup, Mapping[str, str]]:
    """Read a setup and its package versions back from a record."""
    if entry.kind != SETUP:
        raise StoreError(
            f"Record {entry.id} is not a setup record.", remedy="Run: suffice audit verify"
        )
    fields = entry.fields()
    packages = fields.pop("packages", {})
    return value_of(Setup, fields), packages


@lru_cache(maxsize=1)
def versions() -> Mapping[str, str]:
    """Versions of Python and of the installed packages."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _without_secrets(settings: Any) -> Any:
    """The settings without secrets in URLs: credentials, and the path of a webhook."""
    if isinstance(settings, EmbedderSettings):
        return replace(settings, model=_USER.sub("", settings.model))
    if isinstance(settings, VerifierSettings):
        llm = replace(settings.llm, url=_USER.sub("", settings.llm.url))
        return replace(settings, llm=llm)
    draft, judge, verdict = settings.draft, settings.judge, settings.verdict
    hook = urlsplit(verdict.gap_webhook)
    host = f"{hook.scheme}://{hook.hostname}" if hook.hostname else ""
    return replace(
        settings,
        draft=replace(draft, llm=_USER.sub("", draft.llm)),
        judge=replace(judge, llm=_USER.sub("", judge.llm)),
        verdict=replace(verdict, gap_webhook=host),
    )
