"""Figures of other detectors on RAGTruth, quoted from their authors. They were not run here.

They are for the whole test set of RAGTruth. The rows that the other figures are measured on are a
sample of one half of it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

_RAGTRUTH = "RAGTruth, arXiv:2401.00396"
_LETTUCE = "LettuceDetect, arXiv:2502.17125"


@dataclass(frozen=True, slots=True)
class Published:
    """Shares; `None` where the source gives no figure. `trained`: on the training set of RAGTruth,
    so that the test set is of its own kind."""

    name: str
    trained: bool
    source: str
    f1: float | None = None
    f1_qa: float | None = None
    f1_summary: float | None = None
    balanced_accuracy_qa: float | None = None
    balanced_accuracy_summary: float | None = None


PUBLISHED = (
    Published("GPT-4-turbo, prompted", False, _RAGTRUTH, 0.634, 0.456, 0.476),
    Published("Luna (DeBERTa-v3-large)", False, "Luna, arXiv:2406.00975", 0.654),
    Published(
        "HHEM-2.1-Open (110M)", False, "model card of vectara/hallucination_evaluation_model",
        balanced_accuracy_qa=0.743, balanced_accuracy_summary=0.644,
    ),
    Published(
        "TinyLettuce-17M", True, "model card of KRLabsOrg/tinylettuce-ettin-17m-en", 0.685
    ),
    Published("LettuceDetect-base (149M)", True, _LETTUCE, 0.761, 0.655, 0.505),
    Published("LettuceDetect-large (395M)", True, _LETTUCE, 0.792, 0.702, 0.597),
    Published("Llama-2-13B, fine-tuned", True, _RAGTRUTH, 0.787),
    Published("RAG-HAT (Llama-3-8B)", True, "RAG-HAT, EMNLP 2024 Industry Track", 0.839),
)  # fmt: skip


def published() -> list[dict[str, Any]]:
    return [asdict(row) for row in PUBLISHED]
