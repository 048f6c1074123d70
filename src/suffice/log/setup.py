"""The setup: the settings, models and package versions that decisions were made with.

A setup is a separate record. It is written once, and decisions refer to it by its hash.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from suffice.errors import StoreError
from suffice.log.chain import canonical, digest
from suffice.log.decision import Filing, plain, value_of
from suffice.log.follower import read_cursor
from suffice.log.record import Record
from suffice.settings import CollectionSettings, EmbedderSettings, Settings, VerifierSettings
from suffice.sql.database import Database
from suffice.verdict.thresholds import SERVE_ONLY, Thresholds, certified, read_thresholds
from suffice.verdict.thresholds import in_force as thresholds_of

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


MONITOR = "monitor"
"""The cursor of the monitor; its state is JSON, empty at first."""


class Status(StrEnum):
    NONE = "none"
    """No certificate is configured, so nothing is guaranteed."""
    ACTIVE = "active"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The state of the guarantee, since when and why. `certificate` is the id of its file."""

    status: Status = Status.NONE
    since: str = ""
    why: str = "No certificate is configured (verdict.thresholds_file)."
    certificate: str = ""


def suspended_in(tree: Mapping[str, Any]) -> tuple[Guarantee, ...]:
    """The suspended guarantees in a stored state of the monitor."""
    listed = tree.get("suspended")
    if listed is not None:
        return value_of(tuple[Guarantee, ...], listed)
    # States of older versions have one guarantee and no list.
    found = value_of(Guarantee, tree["guarantee"])
    return (found,) if found.status is Status.SUSPENDED else ()


def strict_thresholds(certified: Thresholds) -> Thresholds:
    """The thresholds while the guarantee is suspended: for each, the stricter of certified and
    default."""
    return certified.stricter(default_thresholds(certified))


def default_thresholds(certified: Thresholds | None) -> Thresholds:
    """The default thresholds, for answers of the actions that the certificate covers."""
    return thresholds_of(CollectionSettings(), certified.served if certified else SERVE_ONLY)


def suspended(own: CollectionSettings, certified: Thresholds) -> CollectionSettings:
    """The settings while the guarantee of their certificate is suspended. They no longer name the
    certificate, so records do not either."""
    found = strict_thresholds(certified).apply(own)
    return replace(found, verdict=replace(found.verdict, thresholds_file="", certificate=""))


def suspended_certificates(
    own: CollectionSettings, settings: Settings, database: Database
) -> frozenset[str]:
    """The ids of the certificates whose guarantee is suspended in this store; none if `own` names
    no certificate, or if nothing is monitored."""
    if not settings.monitor.enabled or not own.verdict.thresholds_file:
        return frozenset()
    with database.reading() as connection:
        state = read_cursor(connection, MONITOR).state
    tree = json.loads(state) if state else {"suspended": []}
    return frozenset(guarantee.certificate for guarantee in suspended_in(tree))


def settings_in_force(own: CollectionSettings, held: frozenset[str]) -> CollectionSettings:
    """The settings with stricter thresholds if their certificate is among those that are suspended;
    otherwise `own` itself."""
    if not held or not own.verdict.thresholds_file:
        return own
    id, certified = read_thresholds(own.verdict.thresholds_file)
    return suspended(own, certified) if id in held else own
