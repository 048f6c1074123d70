"""Opens the models named in the settings:

a name      weights inside the package, verified against their card
a folder    an ONNX model, or a sentence-transformers folder
a URL       an OpenAI-compatible embeddings endpoint
a hub name  a verifier from a model hub, downloaded once

A verifier's folder holds a `card.json` (a cross-encoder like the built-in ones) or a `config.json`
(see `suffice.models.hub`).
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from suffice.errors import ExtraMissing, ModelDamaged, ModelMissing, SettingsError
from suffice.models.card import REINSTALL, Card, read_card
from suffice.models.cross_encoder import CrossEncoder, Encoder
from suffice.models.embedder import Embedder, OnnxEmbedder, Pool, first_token, mean_pool
from suffice.models.verifier import LLM, Verifier
from suffice.settings import DraftSettings, EmbedderSettings, VerifierSettings


def read_config(path: Path, *, needed: bool = True) -> dict[str, Any]:
    """The content of a file; empty if it is missing but optional, or not a mapping."""
    if not needed and not path.exists():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise ModelDamaged(
            f"{path} cannot be read: {problem}.",
            remedy="Save the model's original file to that path.",
        ) from problem
    return value if isinstance(value, dict) else {}


EMBEDDERS = ("minilm-l6-embedder",)
DEFAULT = EMBEDDERS[0]
FAST = "minilm-l12-verifier"
STRONG = "mpnet-verifier"


def weights(name: str) -> Path:
    """The folder of a model in the package."""
    return Path(str(resources.files("suffice.models"))) / "weights" / name


def open_embedder(settings: EmbedderSettings) -> Embedder:
    """Open the configured embedder."""
    if settings.model in EMBEDDERS:
        return _packaged(settings.model, settings.threads)
    if settings.model.startswith(("http://", "https://")):
        from suffice.models.remote import RemoteEmbedder

        return RemoteEmbedder.open(settings, _packaged(DEFAULT, settings.threads))
    folder = Path(settings.model).expanduser()
    if folder.is_dir():
        return _folder(folder, settings.threads)
    raise ModelMissing(
        f"There is no embedder '{settings.model}'.",
        remedy=f"Set embedder.model to one of {', '.join(EMBEDDERS)}, to a folder with a model, "
        "or to the URL of an embeddings endpoint.",
    )


def open_verifier(
    settings: VerifierSettings, tier: str = "", draft: DraftSettings | None = None
) -> Verifier:
    """Open the configured verifier, or a tier by name. `draft` is the endpoint meant by
    `verifier.llm.url: draft`."""
    if tier == LLM or (settings.llm.on and not tier):
        from suffice.models.llm.verifier import open_llm_verifier

        return open_llm_verifier(_without_llm(settings), settings.llm, draft)
    return _without_llm(settings, tier)


def _without_llm(settings: VerifierSettings, tier: str = "") -> Verifier:
    if tier not in ("", "fast", "strong"):
        raise ModelMissing(f"There is no tier '{tier}'.", remedy="Use fast, strong or llm.")
    if settings.strong and settings.model != FAST and not tier:
        raise SettingsError(
            f"verifier.strong replaces the built-in fast tier, not '{settings.model}'.",
            remedy="Remove verifier.strong or verifier.model from the settings.",
        )
    if tier == "strong" or (settings.strong and not tier):
        return _cross_encoder(_strong_weights(), settings.threads, "strong")
    fast = _cross_encoder(weights(FAST), settings.threads)
    if tier == "fast" or settings.model == FAST:
        return fast
    if _has_card(settings.model):
        folder = Path(settings.model).expanduser().resolve()
        return CrossEncoder(Encoder(_verified(folder), settings.threads))
    from suffice.models.hub import open_hub

    english = settings.language == "english"
    return open_hub(settings.model, settings.threads, fast, english=english)


def open_reader(settings: VerifierSettings) -> CrossEncoder:
    """The cross-encoder that orders what a search finds: the configured one, or the fast tier if
    the configured verifier is of another kind."""
    fits = settings.strong or settings.model == FAST or _has_card(settings.model)
    return _reader(settings if fits else VerifierSettings(threads=settings.threads), os.getpid())


@cache
def _reader(settings: VerifierSettings, _process: int) -> CrossEncoder:
    """Opened once: a search is opened for every question. A forked process opens its own."""
    verifier = _without_llm(settings)
    assert isinstance(verifier, CrossEncoder)
    return verifier


@cache
def open_fast(threads: int, _process: int) -> CrossEncoder:
    """The built-in fast tier with so many threads, opened once."""
    return _cross_encoder(weights(FAST), threads)


def _has_card(model: str) -> bool:
    """Whether this names a folder with a card, as `training/verifier.py` exports it."""
    return bool(model) and (Path(model).expanduser() / "card.json").is_file()


def _strong_weights() -> Path:
    """The strong tier's folder, in a distribution of its own."""
    if find_spec("suffice_strong") is None:
        raise ExtraMissing("The strong tier", "strong")
    return Path(str(resources.files("suffice_strong"))) / "weights" / STRONG


def _cross_encoder(folder: Path, threads: int, tier: str = "fast") -> CrossEncoder:
    return CrossEncoder(Encoder(_verified(folder, folder.name), threads), tier)


def _verified(folder: Path, name: str = "") -> Card:
    """Verify a model's files, and its name if it is built in, and return its card."""
    card = read_card(folder)
    card.verify()
    if name and card.name != name:
        raise ModelDamaged(f"{card.folder} contains {card.name}, not {name}.", remedy=REINSTALL)
    return card


def _packaged(name: str, threads: int) -> OnnxEmbedder:
    card = _verified(weights(name), name)
    return OnnxEmbedder(
        card.id,
        card.dimension,
        card.window,
        card.folder / "model.onnx",
        card.folder / "tokenizer.json",
        threads,
    )


def _folder(folder: Path, threads: int) -> Embedder:
    """Open a user's model: `model.onnx` (or `onnx/model.onnx`) next to `tokenizer.json`."""
    model = next(
        (p for p in (folder / "model.onnx", folder / "onnx/model.onnx") if p.is_file()), None
    )
    if model is None:
        return _sentence_transformers(folder)
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise ModelDamaged(
            f"{folder} has no tokenizer.json.", remedy="Save the model's fast tokenizer there."
        )
    config = read_config(folder / "config.json", needed=False)
    beside = read_config(folder / "sentence_bert_config.json", needed=False)
    digest = hashlib.sha256()
    for part in sorted((*model.parent.glob("*.onnx*"), tokenizer, *folder.glob("1_*/config.json"))):
        digest.update(part.read_bytes())
    embedder = OnnxEmbedder(
        id=f"{folder.name}-{digest.hexdigest()[:8]}",
        dimension=int(config.get("hidden_size", 0)),
        window=int(beside.get("max_seq_length") or config.get("max_position_embeddings", 512)),
        model=model,
        tokenizer_file=tokenizer,
        threads=threads,
        pool=_pooling(folder),
    )
    return _measured(embedder)


def _measured(embedder: OnnxEmbedder) -> OnnxEmbedder:
    """The embedder, set up for what its graph returns: token vectors, or one vector per text."""
    shape = embedder.session.get_outputs()[0].shape
    pool = embedder.pool if len(shape) == 3 else None
    dimension = shape[-1] if isinstance(shape[-1], int) else embedder.dimension
    if not dimension:
        raise ModelDamaged(
            f"{embedder.model}: the vector size is unknown.",
            remedy="Add hidden_size to the config.json beside the model.",
        )
    return OnnxEmbedder(
        embedder.id, dimension, embedder.window, embedder.model, embedder.tokenizer_file,
        embedder.threads, pool,
    )  # fmt: skip


def _pooling(folder: Path) -> Pool:
    config = read_config(folder / "1_Pooling" / "config.json", needed=False)
    return first_token if config.get("pooling_mode_cls_token") else mean_pool


def _sentence_transformers(folder: Path) -> Embedder:
    if not (folder / "modules.json").is_file():
        raise ModelMissing(
            f"{folder} contains neither model.onnx nor a sentence-transformers model.",
            remedy="Export the model to ONNX, with tokenizer.json beside it.",
        )
    if find_spec("sentence_transformers") is None:
        raise ModelMissing(
            f"{folder} is a sentence-transformers model without an ONNX file.",
            remedy="Export it to ONNX, or run: pip install sentence-transformers",
        )
    from suffice.models.hub import TransformerEmbedder

    return TransformerEmbedder.open(folder)
