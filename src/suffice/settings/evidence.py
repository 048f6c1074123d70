"""Settings for reading, splitting, embedding, searching and filtering documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from suffice.settings.checked import Checked, Count, Share, setting


@dataclass(frozen=True, slots=True)
class ReadSettings(Checked):
    """Limits on the files that are read."""

    max_bytes: Annotated[int, Meta(ge=1, le=1 << 40)] = setting(
        20_000_000, "Maximum size of a file, in bytes. Larger files are refused."
    )
    max_characters: Annotated[int, Meta(ge=1, le=1 << 40)] = setting(
        50_000_000,
        "Maximum length of the text of a file, in characters: a Word file, a PDF and a table can "
        "hold far more text than bytes.",
    )
    seconds: Annotated[float, Meta(ge=0.1, le=86_400)] = setting(
        60.0, "Maximum time to read a file. A process of its own reads it, which is then killed."
    )
    memory_bytes: Annotated[int, Meta(ge=1 << 27, le=1 << 40)] = setting(
        512_000_000,
        "Maximum memory of that process, in bytes. Enforced on Linux.",
    )


@dataclass(frozen=True, slots=True)
class PassageSettings(Checked):
    """How documents are split into passages."""

    max_tokens: Annotated[int, Meta(ge=32, le=8192)] = setting(
        256,
        "Maximum length of a passage, in embedder tokens, including the title and headings that "
        "are embedded with it.",
    )


@dataclass(frozen=True, slots=True)
class EmbedderSettings(Checked):
    """Which embedding model is used, and how it runs."""

    model: str = setting(
        "minilm-l6-embedder",
        "The embedder: a name from the catalogue, a folder with a model, or the URL of an "
        "OpenAI-compatible embeddings endpoint.",
    )
    remote_model: str = setting("", "Model name sent to the endpoint, if `model` is a URL.")
    key_env: str = setting(
        "OPENAI_API_KEY", "Environment variable that holds the API key of the endpoint."
    )
    threads: Annotated[int, Meta(ge=0, le=256)] = setting(
        0, "Number of threads for the embedder. 0: one per core, at most 4."
    )
    window_tokens: Annotated[int, Meta(ge=16, le=1_000_000)] = setting(
        512,
        "Maximum length of a text sent to the endpoint, in tokens of the built-in tokenizer. "
        "Longer texts are sent in parts.",
    )
    timeout: Annotated[float, Meta(ge=0.1, le=3600)] = setting(
        30.0, "Seconds to wait for the endpoint."
    )


@dataclass(frozen=True, slots=True)
class SearchSettings(Checked):
    """How evidence is found."""

    top_k: Count = setting(5, "Number of passages a search returns.")
    most: Count = setting(
        12, "Number of passages at most, if those after the first `top_k` are nearly as good."
    )
    candidates: Count = setting(
        100, "Number of candidates that the dense and the keyword search each contribute."
    )
    rerank: Annotated[int, Meta(ge=0, le=100)] = setting(
        16,
        "Number of passages that the verifier reads to order them, of those the index finds first. "
        "0: the scores of the index decide.",
    )
    reading: Annotated[int, Meta(ge=0, le=20_000)] = setting(
        2000,
        "Characters of a passage with its neighbours: those of its section, and those of the next "
        "sections that were found too. 0: a passage is returned as it is stored.",
    )
    dense_weight: Share = setting(0.5, "Weight of the cosine in the score. BM25 gets the rest.")
    min_dense_similarity: Share = setting(
        0.2, "If no candidate reaches this cosine, keywords alone decide the ranking."
    )
    rewrite: Literal["auto", "always", "never"] = setting(
        "auto",
        "Whether the LLM that drafts is asked for two or three more search queries, in the words "
        "that the documents may use: at most one short call per question. `auto`: unless the "
        "search is sure of its result. Without an LLM (`draft.llm`), never.",
    )
    rewrite_seconds: Annotated[float, Meta(ge=0.1, le=3600)] = setting(
        10.0, "Seconds to wait for these queries. Without them, the question alone is searched for."
    )
    synonyms: tuple[str, ...] = setting(
        (),
        "Groups of words with the same meaning in your documents, for example "
        '`["wfh, remote work", "pto, holiday"]`.',
    )


@dataclass(frozen=True, slots=True)
class QdrantSettings(Checked):
    """The Qdrant server that holds the search index, with `index_engine: qdrant`."""

    url: str = setting(
        "http://localhost:6333",
        "URL of the server, version 1.19 or newer. `:memory:`: an index in this process only, for "
        "tests.",
    )
    key_env: str = setting(
        "QDRANT_API_KEY", "Environment variable that holds the API key of the server."
    )
    prefix: str = setting("suffice-", "Beginning of the names of the collections on the server.")
    timeout: Annotated[float, Meta(ge=1, le=3600)] = setting(
        30.0, "Seconds to wait for the server."
    )
    parallel: Annotated[int, Meta(ge=1, le=64)] = setting(
        4, "Number of requests that write to the index at the same time."
    )
    shards: Annotated[int, Meta(ge=0, le=1000)] = setting(
        0,
        "Number of shards of a new collection. 0: the server decides. With several shards, BM25 "
        "counts words by shard, so scores differ slightly from those of one machine.",
    )
    replicas: Annotated[int, Meta(ge=1, le=32)] = setting(
        1, "Number of copies of each shard of a new collection."
    )


@dataclass(frozen=True, slots=True)
class FilterSettings(Checked):
    """Which sentences are left out of the text that a drafter reads: those below both thresholds
    that share no name or number with a kept sentence."""

    enabled: bool = setting(
        True,
        "Whether to leave out sentences unrelated to the question from what the drafter reads.",
    )
    min_similarity: Share = setting(
        0.20, "A sentence with at least this cosine to the question is kept."
    )
    min_word_overlap: Share = setting(
        0.34, "A sentence with at least this share of the question's words is kept."
    )
