"""The settings: one reader (YAML file, environment, defaults), frozen values, no globals.

A wrong key or value names where it stands (file or variable), the key and what is allowed there.
"""

from __future__ import annotations

import os
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from suffice.errors import SettingsError

ENV_PREFIX = "SUFFICE_"
DEFAULT_FILE = "suffice.yaml"

# Variables that say where the settings are, or how to run; not settings themselves.
_NO_SETTINGS = frozenset({f"{ENV_PREFIX}CONFIG", f"{ENV_PREFIX}DEBUG"})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers a setting may take, ends included."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class AtMost:
    """The setting of the same group that this one may not be above."""

    key: str

    def __str__(self) -> str:
        return f"at most `{self.key}`"


Share = Annotated[float, Range(0, 1)]
Count = Annotated[int, Range(1, 1_000_000)]
Weight = Annotated[float, Range(0, 2)]


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """What may come in."""

    max_bytes: Annotated[int, Range(1, 1 << 40)] = 20_000_000


@dataclass(frozen=True, slots=True)
class PassageSettings:
    """How documents are cut. `tokens` counts the title and headings that travel with a passage."""

    tokens: Annotated[int, Range(32, 8192)] = 256


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """Which embedder: a name of the catalogue, a folder with a model, or an embeddings URL.
    For a URL: `remote_model`, the key's variable, and the window in tokens of our own tokenizer."""

    model: str = "minilm-l6-embedder"
    remote_model: str = ""
    key_env: str = "OPENAI_API_KEY"
    threads: Annotated[int, Range(0, 256)] = 0
    window: Annotated[int, Range(16, 1_000_000)] = 512
    timeout: Annotated[float, Range(0.1, 3600)] = 30.0


@dataclass(frozen=True, slots=True)
class VerifierSettings:
    """Who tells sufficiency and support. `model` is a name from the package, a folder, or a hub
    name of an NLI or token classifier, which reads what `language` says; `threads` 0 takes the
    cores there are. `strong` also asks the strong tier on what the fast one leaves between `low`
    and `high`, at most `pairs` an answer."""

    model: str = "minilm-l6-verifier"
    language: Literal["english", "any"] = "english"
    threads: Annotated[int, Range(0, 256)] = 0
    strong: bool = False
    low: Annotated[Share, AtMost("high")] = 0.25
    high: Share = 0.75
    pairs: Count = 16


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How evidence is found. `dense_weight` is the cosine's share in the fused score. `rewrite`: a
    question about to be refused is searched for once more in other words; `synonyms` are groups of
    words of your own that stand for one another: ["wfh, remote work", "pto, holiday"]."""

    top_k: Count = 5
    candidates: Count = 100
    dense_weight: Share = 0.5
    floor: Share = 0.2
    rewrite: Literal["auto", "always", "never"] = "auto"
    synonyms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TiersSettings:
    """The published tiers of similarity."""

    relevant: Share = 0.30
    one: Share = 0.40
    two: Share = 0.35
    three: Share = 0.30


@dataclass(frozen=True, slots=True)
class CoverageSettings:
    """The published weighted score. Passages older than `recency_days` (0: no limit) do not count
    towards `min_contexts`. `require_embeddings`: without a known similarity nothing is enough.
    `decline_insufficient` false: a draft is written all the same, and leaves with a caveat."""

    min_contexts: Count = 1
    sufficient: Share = 0.8
    partial: Share = 0.5
    recency_days: Annotated[int, Range(0, 1_000_000)] = 365
    require_embeddings: bool = False
    decline_insufficient: bool = True


@dataclass(frozen=True, slots=True)
class BoundSettings:
    """A lower confidence bound on mean relevance must reach `threshold`. `auto` lets `retrieval`
    choose the inequality. `c` and `variance`: 0 estimates them from the scores, and says so."""

    threshold: Share = 0.30
    delta: Annotated[float, Range(1e-6, 0.5)] = 0.05
    inequality: Literal[
        "auto",
        "hoeffding",
        "azuma",
        "bernstein",
        "empirical-bernstein",
        "betting",
        "adaptive",
    ] = "auto"
    retrieval: Literal["independent", "sequential", "reranked", "low-variance"] = "independent"
    c: Share = 0.5
    variance: Annotated[float, Range(0, 0.25)] = 0.0


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """At least so many passages, and the best of them at `top` or more."""

    passages: Count = 3
    top: Share = 0.65


@dataclass(frozen=True, slots=True)
class RerankedSettings:
    """Passages that the verifier finds to answer with less than `relevance` are dropped."""

    relevance: Share = 0.60


@dataclass(frozen=True, slots=True)
class LearnedSettings:
    """The calibrated blend: open from `threshold` on (0: the one found with the blend), with a
    caveat below `sufficient` where a part of the question is not spoken of; what lies within a
    band of width `review` around the threshold goes to a person. From `doubt` on it opens with a
    caveat where every part is."""

    threshold: Share = 0.0
    sufficient: Share = 0.60
    review: Share = 0.10
    doubt: Share = 0.20


@dataclass(frozen=True, slots=True)
class PrototypeSettings:
    """Sentences of your own that show how a kind of text sounds; they stand beside ours."""

    fact: tuple[str, ...] = ()
    qa: tuple[str, ...] = ()
    procedure: tuple[str, ...] = ()
    discussion: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KindWeights:
    """What a kind of evidence is worth: the gate reads a passage's relevance times this."""

    fact: Weight = 1.0
    qa: Weight = 1.0
    procedure: Weight = 0.95
    discussion: Weight = 0.85


@dataclass(frozen=True, slots=True)
class KindSettings:
    """How kinds of evidence are told apart, and what each is worth."""

    prototypes: PrototypeSettings = field(default_factory=PrototypeSettings)
    weights: KindWeights = field(default_factory=KindWeights)


@dataclass(frozen=True, slots=True)
class DiversitySettings:
    """Passages that share `copies` of their wording count once. With `factual`, there must be a
    fact of relevance `fact`, or a question-and-answer pair of relevance `qa`."""

    copies: Annotated[float, Range(0.5, 1)] = 0.8
    factual: bool = False
    fact: Share = 0.30
    qa: Share = 0.40


@dataclass(frozen=True, slots=True)
class ConflictSettings:
    """When passages contradict each other: from a score of `threshold` on, among the first
    `passages`. Under `copies` (two wordings of one text) or `statements` (any others) in what they
    share, they speak of different things: ambiguous, no conflict."""

    on: bool = True
    threshold: Share = 0.8
    passages: Annotated[int, Range(2, 100)] = 10
    copies: Share = 0.5
    statements: Share = 0.28


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Which policy decides whether the evidence is enough, and its numbers. `contact`: whom a
    refusal names to ask."""

    policy: Literal["learned", "tiers", "coverage", "bound", "checkpoint", "reranked"] = "learned"
    learned: LearnedSettings = field(default_factory=LearnedSettings)
    reranked: RerankedSettings = field(default_factory=RerankedSettings)
    tiers: TiersSettings = field(default_factory=TiersSettings)
    coverage: CoverageSettings = field(default_factory=CoverageSettings)
    contact: str = ""
    bound: BoundSettings = field(default_factory=BoundSettings)
    checkpoint: CheckpointSettings = field(default_factory=CheckpointSettings)
    kinds: KindSettings = field(default_factory=KindSettings)
    diversity: DiversitySettings = field(default_factory=DiversitySettings)
    conflict: ConflictSettings = field(default_factory=ConflictSettings)


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """What a drafter is not given to read: sentences whose cosine to the question is under
    `similarity`, that hold less than `overlap` of its words, and share no name with the rest."""

    on: bool = True
    similarity: Share = 0.20
    overlap: Share = 0.34


@dataclass(frozen=True, slots=True)
class DraftSettings:
    """Who writes: `llm` is `extractive`, `local` or the base URL of an OpenAI-compatible endpoint.

    Extractive: the best statement must reach `answers`; others are added down to `keep` times its
    score, up to `sentences` in all. An LLM is shown `room` characters of the evidence and writes
    at most `tokens`; a URL has `timeout` seconds for a draft, its `retries` and their waits
    included. A draft that fails its checks goes back at most `rounds` times, while all drafts of
    an answer stay within `seconds` and within `budget` tokens, prompts counted.
    """

    sentences: Annotated[int, Range(1, 20)] = 3
    answers: Share = 0.40
    keep: Share = 0.90
    llm: str = "extractive"
    model: str = ""
    key_env: str = "OPENAI_API_KEY"
    timeout: Annotated[float, Range(0.1, 3600)] = 60.0
    retries: Annotated[int, Range(0, 20)] = 2
    room: Annotated[int, Range(200, 10_000_000)] = 24_000
    tokens: Annotated[int, Range(8, 1_000_000)] = 512
    threads: Annotated[int, Range(0, 256)] = 0
    rounds: Annotated[int, Range(0, 10)] = 1
    seconds: Annotated[float, Range(0, 86400)] = 120.0
    budget: Annotated[int, Range(0, 1_000_000_000)] = 32_000


@dataclass(frozen=True, slots=True)
class EntailmentSettings:
    """A claim is backed from the probability `threshold` on; 0: where the probability and the share
    of the claim's words that the evidence holds reach `together`, the probability is at least
    `least`, and that of a contradiction under `doubt`. Contradicted from `contradiction` on. Where
    the source has the same names in another order, only from `sure` on."""

    threshold: Share = 0.0
    together: Annotated[float, Range(0, 2)] = 1.10
    least: Share = 0.45
    doubt: Share = 0.65
    sure: Share = 0.70
    contradiction: Share = 0.75


@dataclass(frozen=True, slots=True)
class GroundingSettings:
    """From which cosine on a claim is called near to what it cites, and close."""

    near: Annotated[Share, AtMost("close")] = 0.65
    close: Share = 0.85


@dataclass(frozen=True, slots=True)
class ChecksSettings:
    """Which checks read a draft; where one is off, it leaves every claim UNCHECKED. A draft of
    fewer than `shortest` words is noted as suspiciously short."""

    structure: bool = True
    citations: bool = True
    literals: bool = True
    omission: bool = True
    verbatim: bool = True
    grounding: bool = True
    entailment: bool = True
    judge: bool = False
    shortest: Count = 3
    near: GroundingSettings = field(default_factory=GroundingSettings)
    support: EntailmentSettings = field(default_factory=EntailmentSettings)


ROUTES = (
    "fabricated -> WITHHOLD, possibly systematic: a source was invented",
    "conflict -> CONFLICT",
    "contradicted -> WITHHOLD",
    "mismatch -> WITHHOLD",
    "stale -> REVIEW",
    "expired -> REVIEW",
    "misattributed -> REVIEW",
    "unchecked > 0.2 and faithfulness >= 0.65 -> CAVEAT",
    "omitted and faithfulness >= 0.65 -> CAVEAT",
    "faithfulness >= 0.85 and facts >= 0.80 -> SERVE",
    "faithfulness >= 0.65 -> CAVEAT",
    "faithfulness >= 0.40 -> WITHHOLD",
    "else -> WITHHOLD, knowledge gap",
)


@dataclass(frozen=True, slots=True)
class VerdictSettings:
    """What leaves: the first row of `routes` that fits decides. `rescue`: what cannot leave is
    revised, then trimmed to what is backed, then replaced by quotations, before it is withheld.
    Questions that the documents cannot answer are sent to the URL `webhook`, where there is one."""

    routes: tuple[str, ...] = ROUTES
    rescue: bool = True
    webhook: str = ""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Which LLM judges, with `checks.judge` on: `local`, the base URL of an OpenAI-compatible
    endpoint, or the drafter's (empty; model and key are then the drafter's where none is named).
    It has `timeout` seconds for all claims of a draft, `retries` and their waits included, is shown
    at most `room` characters a claim and writes at most `tokens`."""

    llm: str = ""
    model: str = ""
    key_env: str = ""
    timeout: Annotated[float, Range(0.1, 3600)] = 60.0
    retries: Annotated[int, Range(0, 20)] = 2
    room: Annotated[int, Range(200, 10_000_000)] = 24_000
    tokens: Annotated[int, Range(8, 1_000_000)] = 1_024


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """A domain's own way: how its documents are cut, searched and gated."""

    passages: PassageSettings = field(default_factory=PassageSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    gate: GateSettings = field(default_factory=GateSettings)
    draft: DraftSettings = field(default_factory=DraftSettings)
    filter: FilterSettings = field(default_factory=FilterSettings)
    checks: ChecksSettings = field(default_factory=ChecksSettings)
    verdict: VerdictSettings = field(default_factory=VerdictSettings)
    judge: JudgeSettings = field(default_factory=JudgeSettings)

    @property
    def rewrites(self) -> bool:
        """Whether a question is searched for again before it is refused. A policy that counts
        passages would take more of them for more evidence."""
        counts = self.gate.policy in ("coverage", "bound", "checkpoint")
        return self.search.rewrite == "always" or (self.search.rewrite == "auto" and not counts)


@dataclass(frozen=True, slots=True)
class Settings:
    """All of it. `collections` overrides passages, search, gate, draft, filter, checks and verdict
    for one."""

    store: str = "suffice.db"
    engine: Literal["edge", "memory"] = "edge"
    wait: Annotated[float, Range(0, 86400)] = 60.0
    read: ReadSettings = field(default_factory=ReadSettings)
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
    verifier: VerifierSettings = field(default_factory=VerifierSettings)
    passages: PassageSettings = field(default_factory=PassageSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    gate: GateSettings = field(default_factory=GateSettings)
    draft: DraftSettings = field(default_factory=DraftSettings)
    filter: FilterSettings = field(default_factory=FilterSettings)
    checks: ChecksSettings = field(default_factory=ChecksSettings)
    verdict: VerdictSettings = field(default_factory=VerdictSettings)
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    collections: Mapping[str, CollectionSettings] = field(default_factory=dict)

    def collection(self, name: str) -> CollectionSettings:
        """The settings that hold for one collection."""
        general = CollectionSettings(
            self.passages,
            self.search,
            self.gate,
            self.draft,
            self.filter,
            self.checks,
            self.verdict,
        )
        return self.collections.get(name, general)


def read_settings(
    path: str | Path | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """Defaults, then the YAML file, then `SUFFICE_…` variables (`SUFFICE_GATE__POLICY=coverage`).

    Without a path, `$SUFFICE_CONFIG` is read, or `suffice.yaml` where there is one.
    """
    environ = os.environ if environ is None else environ
    named = path or environ.get(f"{ENV_PREFIX}CONFIG")
    file = Path(named or DEFAULT_FILE)
    tree: dict[str, Any] = {}
    if named or file.is_file():
        tree = _load_yaml(file)
    general = {key: value for key, value in tree.items() if key != "collections"}
    overrides = _environment_tree(environ)
    if "collections" in overrides:
        raise SettingsError(
            "environment: collections are not set by variables.", remedy="Use the settings file."
        )
    settings = _build(Settings, general, str(file), "")
    settings = _build(Settings, overrides, "environment", "", base=settings)
    return _with_collections(settings, tree.get("collections"), str(file))


def settings_of(shape: type[T], values: Mapping[str, Any], origin: str) -> T:
    """A group of settings from values at hand, held to the same limits as a file's."""
    return _build(shape, dict(values), origin, "")


def _with_collections(settings: Settings, raw: Any, origin: str) -> Settings:
    """A collection starts from the general settings and changes only what it names."""
    if raw is None:
        return settings
    if not isinstance(raw, dict):
        raise _wrong(origin, "collections", raw, "a mapping of names to settings")
    base = settings.collection("")
    own = {
        str(name): _build(CollectionSettings, value, origin, f"collections.{name}", base=base)
        for name, value in raw.items()
    }
    return replace(settings, collections=own)


def _load_yaml(file: Path) -> dict[str, Any]:
    import yaml

    try:
        tree = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(
            f"{file}: there is no such settings file.", remedy="Check --config or SUFFICE_CONFIG."
        ) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise SettingsError(
            f"{file}: cannot be read as YAML: {problem}.", remedy="Correct the file."
        ) from problem
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise _wrong(str(file), "(top level)", tree, "a mapping of keys to values")
    return tree


def _environment_tree(environ: Mapping[str, str]) -> dict[str, Any]:
    """`SUFFICE_A__B=x` becomes `{"a": {"b": x}}`; scalars are read as YAML reads them."""
    import yaml

    tree: dict[str, Any] = {}
    for name, value in environ.items():
        if not name.startswith(ENV_PREFIX) or name in _NO_SETTINGS:
            continue
        *parents, last = name.removeprefix(ENV_PREFIX).lower().split("__")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
            if not isinstance(node, dict):
                raise _wrong("environment", parent, node, "a mapping of keys to values")
        try:
            node[last] = yaml.safe_load(value)
        except yaml.YAMLError:
            node[last] = value
    return tree


def _build(shape: type[T], raw: Any, origin: str, where: str, base: T | None = None) -> T:
    """A value of `shape` from a raw mapping; keys left out keep the base's (or default) value."""
    if not isinstance(raw, dict):
        raise _wrong(origin, where or "(top level)", raw, "a mapping of keys to values")
    hints = typing.get_type_hints(shape, include_extras=True)
    for key in raw:
        if key not in hints:
            levels = " Two underscores part the levels." if origin == "environment" else ""
            raise SettingsError(
                f"{origin}: unknown key '{_join(where, key)}'.",
                remedy=f"Allowed here: {', '.join(sorted(hints))}.{levels}",
            )
    start = base if base is not None else shape()
    changes = {
        key: _value(hints[key], value, origin, _join(where, str(key)), getattr(start, key))
        for key, value in raw.items()
    }
    changed: T = replace(start, **changes)  # type: ignore[type-var]
    for key, other in _orders(hints):
        low, high = getattr(changed, key), getattr(changed, other)
        if low > high and key in changes:
            raise _wrong(origin, _join(where, key), low, f"at most '{other}', which is {high:g}")
        if low > high:
            raise _wrong(origin, _join(where, other), high, f"at least '{key}', which is {low:g}")
    return changed


def _orders(hints: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The settings of a group that may not be above another one, with that one."""
    for key, hint in hints.items():
        for limit in typing.get_args(hint):
            if isinstance(limit, AtMost):
                yield key, limit.key


def _value(hint: Any, raw: Any, origin: str, where: str, base: Any) -> Any:
    """One raw value read as its type hint, or a SettingsError that says what is allowed."""
    if is_dataclass(hint) and isinstance(hint, type):
        return _build(hint, raw, origin, where, base=base)
    if typing.get_origin(hint) is Annotated:
        kind, limit, *_ = typing.get_args(hint)
        number = _number(kind, raw)
        if number is None or not limit.low <= number <= limit.high:
            allowed = f"{'a whole ' if kind is int else 'a '}{str(limit).removeprefix('a ')}"
            raise _wrong(origin, where, raw, allowed)
        return number
    if typing.get_origin(hint) is Literal:
        allowed_values = typing.get_args(hint)
        if raw not in allowed_values:
            raise _wrong(origin, where, raw, "one of " + ", ".join(map(str, allowed_values)))
        return raw
    if hint is str and isinstance(raw, str | int | float) and not isinstance(raw, bool):
        return str(raw)
    if hint is bool and isinstance(raw, bool):
        return raw
    if hint == tuple[str, ...]:
        if not isinstance(raw, list) or not all(isinstance(entry, str) for entry in raw):
            raise _wrong(origin, where, raw, "a list of texts")
        return tuple(raw)
    raise _wrong(origin, where, raw, {str: "text", bool: "true or false"}.get(hint, str(hint)))


def _number(kind: type, raw: Any) -> int | float | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    if kind is int:
        return int(raw) if float(raw).is_integer() else None
    return float(raw)


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _wrong(origin: str, where: str, raw: Any, allowed: str) -> SettingsError:
    return SettingsError(f"{origin}: '{where}' is {raw!r}.", remedy=f"Allowed: {allowed}.")
