"""Uses an NLI cross-encoder or token classifier as verifier:

a folder      config.json, tokenizer.json and model.onnx, onnx/model.onnx or torch weights
a hub name    `org/name`: such a folder from the hub's local cache, else downloaded
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import ExtraMissing, ModelDamaged, ModelMissing, ModelUnreachable
from suffice.models.config import read_config
from suffice.models.embedder import TokenIds
from suffice.models.hub_head import LABELS, TIER, Floats, Head, Logits, read_head, strongest_window
from suffice.models.hub_reader import Reader
from suffice.models.tokens import batches, load_fast_tokenizer
from suffice.models.verifier import (
    Pair,
    SufficiencyScore,
    SupportScore,
    Thresholds,
    Verifier,
    sentence_scores,
)

Run = Callable[[Mapping[str, TokenIds]], Logits]

_DESCRIPTION = ("config.json", "tokenizer.json", "tokenizer_config.json")
_ONNX = ("model.onnx", "onnx/model.onnx")
_TORCH = ("model.safetensors", "pytorch_model.bin")
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")
# These models reserve two positions for padding: 514 positions read 512 tokens.
_OFFSET_PLACES = ("roberta", "camembert", "mpnet", "longformer", "data2vec-text")


def open_hub(
    name_or_folder: str, threads: int, fallback: Verifier, *, english: bool = True
) -> Verifier:
    """The verifier in a folder or on the hub. `fallback` answers what the model was not trained
    for. With `english`, text in other languages stays unchecked, because config.json does not list
    the languages of a model."""
    given = Path(name_or_folder).expanduser()
    own = bool(name_or_folder) and given.is_dir()
    folder = given.resolve() if own else _fetched(name_or_folder)
    weights = _weights(folder)
    config = read_config(folder / "config.json")
    try:
        head, window = read_head(config), read_window(folder, config)
        pad = int(config.get("pad_token_id") or 0)
    except (AttributeError, TypeError, ValueError) as problem:
        raise ModelDamaged(
            f"{folder}/config.json does not describe a verifier: {problem}.", remedy=LABELS
        ) from problem
    run = _onnx(weights, threads) if weights.suffix == ".onnx" else _torch(folder, head.tokens)
    name = folder.name if own else given.name
    tokenizer = load_fast_tokenizer(folder / "tokenizer.json")
    reader = Reader(tokenizer, window, asks=head.tokens, english=english)
    return HubVerifier(f"{name}-{_digest(weights)[:8]}", head, reader, run, fallback, pad)


@dataclass(frozen=True, slots=True)
class HubVerifier:
    """Judges support with the user's model, and sufficiency with `fallback`."""

    id: str
    head: Head
    reader: Reader
    run: Run
    fallback: Verifier
    pad: int = 0

    @property
    def tier(self) -> str:
        return TIER

    @property
    def thresholds(self) -> Thresholds:
        return Thresholds(sufficiency=self.fallback.thresholds.sufficiency)

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        readings = [self.reader.read(pair) for pair in pairs]
        rows = iter(self._judge([w.encoding for reading in readings for w in reading.windows]))
        return [
            SupportScore(unchecked=reading.unchecked)
            if reading.unchecked
            else strongest_window([(window.passage, next(rows)) for window in reading.windows])
            for reading in readings
        ]

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return self.fallback.sufficiency(pairs)

    def sentences(self, text: str, sentences: Sequence[str]) -> list[float]:
        return sentence_scores(self.fallback, text, sentences)

    def _judge(self, encodings: Sequence[Any]) -> Floats:
        scores = np.zeros((len(encodings), 3))
        for rows in batches([len(encoding.ids) for encoding in encodings]):
            batch = [encodings[row] for row in rows]
            inputs = {
                "input_ids": _padded([encoding.ids for encoding in batch], self.pad),
                "attention_mask": _padded([encoding.attention_mask for encoding in batch]),
                "token_type_ids": _padded([encoding.type_ids for encoding in batch]),
            }
            claims = _padded([[part == 1 for part in e.sequence_ids] for e in batch])
            logits = self.run(inputs)
            if logits.ndim != 2 + self.head.tokens or logits.shape[-1] != self.head.labels:
                raise ModelDamaged(
                    f"{self.id} returned output of shape {logits.shape}; its config.json names "
                    f"{self.head.labels} labels.",
                    remedy=LABELS,
                )
            scores[rows] = self.head.judge(logits, claims)
        return scores


def read_window(folder: Path, config: Mapping[str, Any]) -> int:
    """The maximum number of tokens that the model reads at once."""
    places = int(config.get("max_position_embeddings") or 0)
    if str(config.get("model_type")).removeprefix("xlm-").startswith(_OFFSET_PLACES):
        places -= 2
    beside = read_config(folder / "tokenizer_config.json", needed=False)
    limit = int(beside.get("model_max_length") or 0)
    # A tokenizer without a limit reports 1e30.
    return min((size for size in (places, limit) if 0 < size < 1 << 20), default=512)


def _fetched(name: str) -> Path:
    """The folder of a hub model, from the cache if it has all required files."""
    if not _HUB_NAME.fullmatch(name):
        raise ModelMissing(
            f"'{name}' is neither a folder nor a hub name.",
            remedy="Use a folder that contains a model, or a hub name such as org/name.",
        )
    if find_spec("huggingface_hub") is None:
        raise ExtraMissing(f"'{name}' is not a folder, and loading it from the hub", "hub")
    kinds = (_ONNX, *((file,) for file in _TORCH if _has_torch()))
    for local in (True, False):
        for weights in kinds:
            parts = [f"{file}*" for file in weights]  # with their external data files
            folder = _snapshot(name, [*_DESCRIPTION, *parts], local)
            if folder and _holds(folder, weights) and (not local or _described(folder)):
                return folder
    raise ModelMissing(
        f"{name} has no {' or '.join(_ONNX)} on the hub.",
        remedy="Export it to ONNX, or run: pip install transformers torch",
    )


def _holds(folder: Path, files: Sequence[str]) -> bool:
    return any((folder / file).is_file() for file in files)


def _described(folder: Path) -> bool:
    return all((folder / file).is_file() for file in ("config.json", "tokenizer.json"))


def _snapshot(name: str, files: list[str], local: bool) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=files, local_files_only=local))
    except RepositoryNotFoundError as problem:
        raise ModelMissing(
            f"There is no folder '{name}', and the hub has no model of that name.",
            remedy="Check the name; for a private or gated model run: hf auth login",
        ) from problem
    except Exception as problem:  # from the library, the HTTP client or the file system
        if local:
            return None
        raise ModelUnreachable(
            f"There is no folder '{name}', and it could not be downloaded from the hub: {problem}",
            remedy="Check the connection, or download the model and set its folder.",
        ) from problem


def _weights(folder: Path) -> Path:
    found = next((folder / f for f in (*_ONNX, *_TORCH) if (folder / f).is_file()), None)
    if found is None:
        raise ModelMissing(
            f"{folder} contains no weights: none of {', '.join((*_ONNX, *_TORCH))}.",
            remedy="Export the model to ONNX, with config.json and tokenizer.json beside it.",
        )
    if found.suffix != ".onnx" and not _has_torch():
        raise ModelMissing(
            f"{found} needs torch.",
            remedy="Export the model to ONNX, or run: pip install transformers torch",
        )
    return found


def _has_torch() -> bool:
    return all(find_spec(name) is not None for name in ("torch", "transformers"))


def _onnx(model: Path, threads: int) -> Run:
    from suffice.models.session import open_session

    session = open_session(model, threads)
    names = [entry.name for entry in session.get_inputs()]
    unknown = set(names) - {"input_ids", "attention_mask", "token_type_ids"}
    if unknown:
        raise ModelDamaged(
            f"{model} requires unsupported inputs: {', '.join(sorted(unknown))}.",
            remedy="Export it with only input_ids, attention_mask and token_type_ids.",
        )
    outputs = [entry.name for entry in session.get_outputs()]
    output = "logits" if "logits" in outputs else outputs[0]

    def run(inputs: Mapping[str, TokenIds]) -> Logits:
        logits: Logits = session.run([output], {name: inputs[name] for name in names})[0]
        return logits

    return run


def _torch(folder: Path, tokens: bool) -> Run:
    torch, transformers = import_module("torch"), import_module("transformers")
    kind = "TokenClassification" if tokens else "SequenceClassification"
    try:
        opened = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(
            str(folder), local_files_only=True
        )
    except Exception as problem:  # transformers and torch raise many different types
        raise ModelDamaged(
            f"{folder} cannot be loaded: {problem}", remedy="Download it again."
        ) from problem
    model = opened.float().eval()
    names = ["input_ids", "attention_mask"]
    if getattr(model.config, "type_vocab_size", 0) > 1:
        names.append("token_type_ids")

    def run(inputs: Mapping[str, TokenIds]) -> Logits:
        with torch.inference_mode():
            given = {name: torch.from_numpy(inputs[name]) for name in names}
            logits: Logits = model(**given).logits.numpy()
            return logits

    return run


def _digest(weights: Path) -> str:
    digest = hashlib.sha256()
    for part in sorted(weights.parent.glob(f"{weights.name}*")):
        with part.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


def _padded(rows: Sequence[Sequence[int]], pad: int = 0) -> TokenIds:
    values = np.full((len(rows), max(map(len, rows))), pad, dtype=np.int64)
    for row, part in enumerate(rows):
        values[row, : len(part)] = part
    return values
