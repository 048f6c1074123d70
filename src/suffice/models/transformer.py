"""A sentence-transformers folder, run by that library where the user has installed it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suffice.models.embedder import Vectors


@dataclass(frozen=True)
class TransformerEmbedder:
    """Torch weights; slower and heavier than ONNX, but any such folder works."""

    id: str
    dimension: int
    window: int
    model: Any

    @classmethod
    def open(cls, folder: Path) -> TransformerEmbedder:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        size = int(model.get_sentence_embedding_dimension() or 0)
        return cls(folder.name, size, int(model.max_seq_length), model)

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = self.model.encode(list(texts), normalize_embeddings=True)
        return np.asarray(vectors, dtype=np.float32)

    def token_ends(self, text: str) -> Sequence[int]:
        encoding = self.model.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, truncation=False
        )
        return [end for _, end in encoding["offset_mapping"]]
