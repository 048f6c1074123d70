"""What comes in and how it is found: reading, cutting, embedding, searching, filtering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from suffice.settings.checked import Checked
from suffice.settings.limits import Count, Range, Share


@dataclass(frozen=True, slots=True)
class ReadSettings(Checked):
    """What may come in."""

    max_bytes: Annotated[int, Range(1, 1 << 40)] = 20_000_000


@dataclass(frozen=True, slots=True)
class PassageSettings(Checked):
    """How documents are cut. `tokens` counts the title and headings that travel with a passage."""

    tokens: Annotated[int, Range(32, 8192)] = 256


@dataclass(frozen=True, slots=True)
class EmbedderSettings(Checked):
    """Which embedder: a name of the catalogue, a folder with a model, or an embeddings URL.
    For a URL: `remote_model`, the key's variable, and the window in tokens of our own tokenizer."""

    model: str = "minilm-l6-embedder"
    remote_model: str = ""
    key_env: str = "OPENAI_API_KEY"
    threads: Annotated[int, Range(0, 256)] = 0
    window: Annotated[int, Range(16, 1_000_000)] = 512
    timeout: Annotated[float, Range(0.1, 3600)] = 30.0


@dataclass(frozen=True, slots=True)
class SearchSettings(Checked):
    """How evidence is found. `dense_weight` is the cosine's share in the fused score. `rewrite`: a
    question about to be refused is searched for once more in other words. On real documents that
    brings more wrong answers than right ones, so it is off; with `synonyms` of your own, groups of
    words that stand for one another (["wfh, remote work", "pto, holiday"]), it may pay."""

    top_k: Count = 5
    candidates: Count = 100
    dense_weight: Share = 0.5
    floor: Share = 0.2
    rewrite: Literal["auto", "always", "never"] = "never"
    synonyms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FilterSettings(Checked):
    """What a drafter is not given to read: sentences whose cosine to the question is under
    `similarity`, that hold less than `overlap` of its words, and share no name with the rest."""

    on: bool = True
    similarity: Share = 0.20
    overlap: Share = 0.34


@dataclass(frozen=True, slots=True)
class PrototypeSettings(Checked):
    """Sentences of your own that show how a kind of text sounds; they stand beside ours."""

    fact: tuple[str, ...] = ()
    qa: tuple[str, ...] = ()
    procedure: tuple[str, ...] = ()
    discussion: tuple[str, ...] = ()
