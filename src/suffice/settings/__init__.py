"""The settings: read once from defaults, a YAML file and the environment into frozen values.

An unknown key or invalid value raises a SettingsError that names its origin (file or environment),
the key and the allowed values.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from suffice.errors import SettingsError
from suffice.settings.answer import (
    ROUTES,
    ChecksSettings,
    CollectionSettings,
    DraftSettings,
    EntailmentSettings,
    GroundingSettings,
    JudgeSettings,
    VerdictSettings,
)
from suffice.settings.checked import (
    ABOUT,
    AtMost,
    Checked,
    Count,
    Share,
    Weight,
    bad_value,
    setting,
)
from suffice.settings.evidence import (
    EmbedderSettings,
    FilterSettings,
    PassageSettings,
    QdrantSettings,
    ReadSettings,
    SearchSettings,
)
from suffice.settings.gate import (
    BoundSettings,
    CheckpointSettings,
    ConflictSettings,
    CoverageSettings,
    DiversitySettings,
    GateSettings,
    KindSettings,
    KindWeights,
    LearnedSettings,
    LlmSettings,
    RerankedSettings,
    TiersSettings,
    VerifierSettings,
)
from suffice.settings.identity import (
    IdentitySettings,
    SignedHeaderSettings,
    SiteSettings,
    TokenSettings,
)
from suffice.settings.reader import ENV_PREFIX, T, as_written, build, environment_tree, load_yaml
from suffice.settings.record import MailSettings, MonitorSettings, RecordSettings, SignSettings
from suffice.settings.server import (
    BreakerSettings,
    CorsSettings,
    CouncilSettings,
    LimitSettings,
    RouteSettings,
    ServerSettings,
    UpstreamSettings,
    WorkSettings,
    read_routes,
    without_routes,
)

DEFAULT_FILE = "suffice.yaml"

__all__ = [
    "DEFAULT_FILE",
    "ENV_PREFIX",
    "ROUTES",
    "AtMost",
    "BoundSettings",
    "BreakerSettings",
    "CheckpointSettings",
    "ChecksSettings",
    "CollectionSettings",
    "ConflictSettings",
    "CorsSettings",
    "CouncilSettings",
    "Count",
    "CoverageSettings",
    "DiversitySettings",
    "DraftSettings",
    "EmbedderSettings",
    "EntailmentSettings",
    "FilterSettings",
    "GateSettings",
    "GroundingSettings",
    "IdentitySettings",
    "JudgeSettings",
    "KindSettings",
    "KindWeights",
    "LearnedSettings",
    "LimitSettings",
    "LlmSettings",
    "MailSettings",
    "MonitorSettings",
    "PassageSettings",
    "QdrantSettings",
    "ReadSettings",
    "RecordSettings",
    "RerankedSettings",
    "RouteSettings",
    "SearchSettings",
    "ServerSettings",
    "Settings",
    "Share",
    "SignSettings",
    "SignedHeaderSettings",
    "SiteSettings",
    "TiersSettings",
    "TokenSettings",
    "UpstreamSettings",
    "VerdictSettings",
    "VerifierSettings",
    "Weight",
    "WorkSettings",
    "read_settings",
    "settings_of",
]


@dataclass(frozen=True)
class SharedSettings(Checked):
    """The store, its index and the models, which all collections share."""

    store: str = setting(
        "suffice.db", "Path of the SQLite store, or the URL of a PostgreSQL database."
    )
    index: str = setting(
        "",
        "Folder of the search index. Empty: next to the SQLite store, or in the cache folder "
        "for PostgreSQL.",
    )
    index_engine: Literal["edge", "memory", "qdrant"] = setting(
        "edge",
        "Index engine. `edge`: in-process Qdrant, on disk. `memory`: exact search in memory, "
        "for small collections. `qdrant`: a Qdrant server, shared by all machines.",
    )
    qdrant: QdrantSettings = field(default_factory=QdrantSettings)
    store_wait_seconds: Annotated[float, Meta(ge=0, le=86400)] = setting(
        60.0, "Seconds to wait for another process that writes to the store."
    )
    read: ReadSettings = field(default_factory=ReadSettings)
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
    verifier: VerifierSettings = field(default_factory=VerifierSettings)


@dataclass(frozen=True)
class Settings(CollectionSettings, SharedSettings):
    """All settings: those that all collections share, and those of a collection, which an entry of
    `collections` overrides for one collection."""

    record: RecordSettings = field(default_factory=RecordSettings)
    monitor: MonitorSettings = field(default_factory=MonitorSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    collections: Mapping[str, CollectionSettings] = field(
        default_factory=dict,
        metadata={ABOUT: "Groups of settings that override the general ones for this collection."},
    )

    def collection(self, name: str) -> CollectionSettings:
        """The settings that apply to one collection."""
        return self.collections.get(name) or self._general()

    def _general(self) -> CollectionSettings:
        groups = {item.name: getattr(self, item.name) for item in fields(CollectionSettings)}
        return CollectionSettings(**groups)


def read_settings(
    path: str | Path | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """Read the settings: defaults, then the YAML file, then environment variables such as
    `SUFFICE_GATE__POLICY=coverage`.

    Without a path, the file is `$SUFFICE_CONFIG`, or `suffice.yaml` if it exists.
    """
    environ = os.environ if environ is None else environ
    named = path or environ.get(f"{ENV_PREFIX}CONFIG")
    file = Path(named or DEFAULT_FILE)
    tree: dict[str, Any] = {}
    if named or file.is_file():
        tree = as_written(load_yaml(file), str(file))
    tree, routes = without_routes(tree)
    general = {key: value for key, value in tree.items() if key != "collections"}
    overrides = environment_tree(environ)
    if "collections" in overrides:
        raise SettingsError(
            "environment: collections cannot be set by environment variables.",
            remedy="Use the settings file.",
        )
    settings = build(Settings, general, str(file), "")
    settings = build(Settings, overrides, "environment", "", base=settings)
    settings = _with_collections(settings, tree.get("collections"), str(file))
    server = read_routes(settings.server, settings.collection, routes, str(file))
    return replace(settings, server=server)


def settings_of(shape: type[T], values: Mapping[str, Any], origin: str) -> T:
    """Build a group of settings from a mapping, validated as if it came from a file."""
    return build(shape, dict(values), origin, "")


def _with_collections(settings: Settings, raw: Any, origin: str) -> Settings:
    """Add the collections; each overrides the general settings only for the keys it names."""
    if raw is None:
        return settings
    if not isinstance(raw, dict):
        raise bad_value(origin, "collections", raw, "a mapping of names to settings")
    base = settings.collection("")
    own = {
        str(name): build(CollectionSettings, value, origin, f"collections.{name}", base=base)
        for name, value in raw.items()
    }
    return replace(settings, collections=own)
