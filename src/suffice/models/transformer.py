"""Runs a sentence-transformers model with that library, if it is installed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suffice.models.embedder import Vectors, pooled_vectors, windows


@dataclass(frozen=True)
class TransformerEmbedder:
    """An embedder with PyTorch weights: slower and heavier than ONNX, but runs any such model."""

    id: str
    dimension: int
    window: int
    model: Any

    @classmethod
    def open(cls, folder: Path) -> TransformerEmbedder:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        size = len(model.encode("size"))
        digest = hashlib.sha256()
        for file in sorted((*folder.rglob("*.safetensors"), *folder.rglob("*.bin"))):
            digest.update(file.read_bytes())
        id = f"{folder.name}-{digest.hexdigest()[:8]}"
        return cls(id, size, int(model.max_seq_length), model)

    def embed(self, texts: Sequence[str]) -> Vectors:
        room = self.window - 2
        parts = [windows(text, self.token_ends(text), room) for text in texts]
        flat = [part for text in parts for part in text]
        vectors = np.asarray(self.model.encode(flat, normalize_embeddings=True), dtype=np.float32)
        return pooled_vectors(parts, vectors, [max(len(part), 1) for part in flat])

    def token_ends(self, text: str) -> Sequence[int]:
        encoding = self.model.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, truncation=False
        )
        return [end for _, end in encoding["offset_mapping"]]
