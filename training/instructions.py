"""Train the detector of instructions in documents, for `suffice.text.instructions`.

    python -m training.instructions ROWS.jsonl … --ordinary PASSAGES.jsonl [--held SET …]

A row is {"set", "text", "instructs": true or false, "weight"?}. Rows of the sets named by `--held`
are not trained on, and the share flagged in each is printed. The threshold is chosen on ordinary
passages of documents that are not trained on. Needs no GPU.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse
from sklearn.linear_model import LogisticRegression

from suffice.text.instructions import BUCKETS, FILE, Model, buckets, folded, windows

from .rows import read_lines

Row = dict[str, Any]
_PRUNED = 0.15
"""The share of a planted text's windows, those that look least like orders, that are left out of
the second round: an attack also has ordinary sentences."""
_ORDERS = 4.0
"""The weight of a planted text; there are many times more ordinary ones."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=Path, nargs="+")
    parser.add_argument("--ordinary", type=Path, required=True)
    parser.add_argument("--held", nargs="*", default=[])
    parser.add_argument("--false-alarms", type=float, default=0.01)
    parser.add_argument("--penalty", type=float, default=30.0)
    asked = parser.parse_args()
    rows = [row for path in asked.rows for row in read_lines(path)]
    kept = [row for row in rows if row["set"] not in asked.held]
    weights, bias = trained(kept, asked.penalty)
    scale = np.float32(np.abs(weights).max() / 127)
    codes = np.round(weights / scale).astype(np.int8)
    weights = codes * scale
    judge = Model(weights, bias, threshold=0.0)
    ordinary = [scored(judge, row["text"]) for row in read_lines(asked.ordinary)]
    threshold = float(np.quantile(ordinary, 1 - asked.false_alarms))
    print(f"{len(kept)} texts trained on, {len(ordinary)} ordinary passages; {threshold=:.2f}")
    for name in asked.held:
        texts = [row["text"] for row in rows if row["set"] == name]
        found = [scored(judge, text) >= threshold for text in texts]
        print(f"{name}: {sum(found)} of {len(found)} flagged")
    np.savez_compressed(FILE, weights=codes, scale=scale, bias=bias, threshold=threshold)


def trained(rows: list[Row], penalty: float) -> tuple[np.ndarray, float]:
    parts = [(words, row) for row in rows for _, words in windows(folded(row["text"])[0])]
    labels = np.array([float(row["instructs"]) for _, row in parts])
    weight = np.array([row.get("weight", 1.0) for _, row in parts])
    weight = np.where(labels > 0, _ORDERS * weight, weight)
    features = matrix([words for words, _ in parts])
    kept = np.ones(len(parts), dtype=bool)
    fitted = LogisticRegression(C=penalty, max_iter=300)
    for _ in range(2):
        fitted.fit(features[kept], labels[kept], sample_weight=weight[kept])
        scores = fitted.decision_function(features)
        kept = (labels == 0) | (scores > np.quantile(scores[labels > 0], _PRUNED))
    return fitted.coef_[0], float(fitted.intercept_[0])


def matrix(parts: list[tuple[str, ...]]) -> sparse.csr_matrix:
    columns = [sorted(buckets(words)) for words in parts]
    ends = np.cumsum([0, *map(len, columns)])
    values = np.concatenate([np.full(len(one), 1 / np.sqrt(len(one))) for one in columns])
    return sparse.csr_matrix((values, np.concatenate(columns), ends), shape=(len(parts), BUCKETS))


def scored(judge: Model, text: str) -> float:
    return judge.suspicion(folded(text)[0])


if __name__ == "__main__":
    main()
