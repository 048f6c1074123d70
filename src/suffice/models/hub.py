"""Uses an NLI cross-encoder or token classifier as verifier:

a folder      config.json, tokenizer.json and model.onnx, onnx/model.onnx or torch weights
a hub name    `org/name`: such a folder from the hub's local cache, else downloaded
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import ExtraMissing, ModelDamaged, ModelMissing, ModelUnreachable
from suffice.models.catalog import read_config
from suffice.models.embedder import TokenIds, Vectors, pooled_vectors, windows
from suffice.models.reading import NO_NUMBER, clean, foreign
from suffice.models.tokens import batches, load_fast_tokenizer
from suffice.models.verifier import (
    Pair,
    SufficiencyScore,
    SupportScore,
    Thresholds,
    Verifier,
    sentence_scores,
)
from suffice.text.sentences import Span, sentences

Floats = NDArray[np.float64]
Logits = NDArray[np.float32]

TIER = "hub"
LABELS = (
    "Add id2label to its config.json, in the order used in training: entailment, neutral, "
    "contradiction; or entailment, not_entailment; or entailment for a single output; or "
    "supported, hallucinated for tokens."
)


@dataclass(frozen=True, slots=True)
class Head:
    """The meaning of the logit columns. With `tokens`, each claim token has its own logits and
    `column` is the class "hallucinated"; otherwise `column` is the class "supported"."""

    labels: int
    column: int
    contradicted: int | None = None
    tokens: bool = False

    def judge(self, logits: Logits, claims: TokenIds) -> Floats:
        """Probabilities for supported, contradicted and not mentioned, one row per window. `claims`
        marks the tokens of the claims."""
        values = logits.astype(np.float64)
        if self.labels == 1:
            values = np.concatenate([values, np.zeros_like(values)], axis=1)
        powers = np.exp(values - values.max(axis=-1, keepdims=True))
        shares: Floats = powers / powers.sum(axis=-1, keepdims=True)
        chosen = shares[..., self.column]
        supported = 1 - np.where(claims, chosen, 0).max(axis=1) if self.tokens else chosen
        contradicted = (
            shares[:, self.contradicted]
            if self.contradicted is not None
            else np.zeros_like(supported)
        )
        rest = np.maximum(1 - supported - contradicted, 0)
        return np.stack([supported, contradicted, rest], axis=1)


def read_head(config: Mapping[str, Any]) -> Head:
    """The head that a config.json describes. Raise an error if the labels are unclear."""
    kind = str((config.get("architectures") or [""])[0])
    if kind and not kind.endswith(("ForSequenceClassification", "ForTokenClassification")):
        raise ValueError(f"a {kind} is neither an NLI cross-encoder nor a token classifier")
    numbered = {str(n): f"LABEL_{n}" for n in range(int(config.get("num_labels") or 2))}
    named = config.get("id2label") or numbered
    labels = [str(named[key]) for key in sorted(named, key=int)]
    roles = [_role(label) for label in labels]
    tokens = kind.endswith("ForTokenClassification")
    if tokens and labels == ["LABEL_0", "LABEL_1"]:
        return Head(2, 1, tokens=True)  # LettuceDetect models do not name their labels
    if tokens and roles.count("made up") == 1 < len(labels):
        return Head(len(labels), roles.index("made up"), tokens=True)
    if tokens or "" in roles or roles.count("supported") != 1 or roles.count("contradicted") > 1:
        raise ValueError(f"its labels are {', '.join(labels)}, which do not describe the classes")
    against = roles.index("contradicted") if "contradicted" in roles else None
    return Head(len(labels), roles.index("supported"), against)


def _role(label: str) -> str:
    name = re.sub("[^a-z]", "", label.lower())
    if name.startswith(("no", "neutral")):
        return "neither"
    stems = {"entail": "supported", "contra": "contradicted", "halluc": "made up"}
    return next((role for stem, role in stems.items() if stem in name), "")


def strongest_window(windows: Sequence[tuple[int, Floats]]) -> SupportScore:
    """The score of the window with the strongest support, unless a contradiction is stronger."""
    if not all(np.isfinite(row).all() for _, row in windows):
        return SupportScore(unchecked=NO_NUMBER)
    best = max(windows, key=lambda window: float(window[1][0]))
    worst = max(windows, key=lambda window: float(window[1][1]))
    passage, row = worst if worst[1][1] > best[1][0] else best
    supported, contradicted, rest = map(float, row)
    return SupportScore(supported, contradicted, rest, passage, tier=TIER)


# A claim must leave this many tokens for the evidence.
_LEAST_ROOM = 32


@dataclass(frozen=True, slots=True)
class Window:
    """One input: part of the evidence with the claim, and the passage it comes from."""

    passage: int
    encoding: Any


@dataclass(frozen=True, slots=True)
class Reading:
    """The windows of a pair, or why it cannot be judged."""

    windows: tuple[Window, ...] = ()
    unchecked: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """Splits pairs into windows of at most `window` tokens. With `asks`, each window includes the
    question. With `english`, text in other languages stays unchecked."""

    tokenizer: Any
    window: int
    asks: bool = False
    english: bool = False

    def read(self, pair: Pair) -> Reading:
        """All evidence in one window if it fits, otherwise separate windows for each passage."""
        pair = replace(pair, text=clean(pair.text), question=clean(pair.question))
        passages = {
            n: clean(text) for n, text in enumerate(pair.evidence) if any(map(str.isalnum, text))
        }
        question = f"{pair.question}\n" if self.asks and pair.question else ""
        marks = self.tokenizer.num_special_tokens_to_add(True)
        room = self.window - marks - len(self._ids(question)) - len(self._ids(pair.text))
        if not any(map(str.isalnum, pair.text)):
            return Reading(unchecked="There is nothing to judge.")
        if not passages:
            return Reading(unchecked="There is no evidence.")
        if room < _LEAST_ROOM:
            return Reading(unchecked=f"The claim is too long for a window of {self.window} tokens.")
        if self.english and (reason := foreign(pair)):
            return Reading(unchecked=reason)
        windows = tuple(
            Window(passage, self.tokenizer.encode(question + text, pair.text))
            for passage, text in self._texts(pair.text, passages, room)
        )
        if any(len(window.encoding) > self.window for window in windows):
            return Reading(unchecked=f"The evidence exceeds the window of {self.window} tokens.")
        return Reading(windows)

    def stretches(self, text: str, room: int) -> Iterator[str]:
        """Runs of sentences of at most `room` tokens. Each starts with the last sentence of the
        previous run if it fits."""
        spans = [part for span in sentences(text) for part in self._parts(text, span, room)]

        def fits(first: int, last: int) -> bool:
            return len(self._ids(text[spans[first][0] : spans[last][1]])) <= room

        first = 0
        while first < len(spans):
            last = first
            while last + 1 < len(spans) and fits(first, last + 1):
                last += 1
            yield text[spans[first][0] : spans[last][1]]
            overlaps = first < last < len(spans) - 1 and fits(last, last + 1)
            first = last if overlaps else last + 1

    def _texts(
        self, query: str, passages: Mapping[int, str], room: int
    ) -> Iterator[tuple[int, str]]:
        together = "\n".join(passages.values())
        if len(self._ids(together)) <= room:
            yield self._nearest(query, passages), together
            return
        for passage, text in passages.items():
            for stretch in self.stretches(text, room):
                yield passage, stretch

    def _parts(self, text: str, span: Span, room: int) -> Iterator[Span]:
        """A sentence, or parts of half a window if it is too long, so that windows overlap."""
        if len(self._ids(text[span[0] : span[1]])) <= room:
            yield span
        else:
            yield from self._halved(text, span, room // 2)

    def _halved(self, text: str, span: Span, room: int) -> Iterator[Span]:
        start, end = span
        encoding = self.tokenizer.encode(text[start:end], add_special_tokens=False)
        if len(encoding) <= room or end - start < 2:
            yield span
            return
        middle = start + encoding.offsets[len(encoding) // 2][0]
        middle = min(max(middle, start + 1), end - 1)
        yield from self._halved(text, (start, middle), room)
        yield from self._halved(text, (middle, end), room)

    def _nearest(self, query: str, passages: Mapping[int, str]) -> int:
        """The passage that shares the most words with the claim. Rare words count more."""
        wanted = set(self._ids(query))
        shared = {n: sorted(wanted & set(self._ids(text))) for n, text in passages.items()}
        spread = Counter(token for tokens in shared.values() for token in tokens)
        return max(shared, key=lambda n: sum(1 / spread[token] for token in shared[n]))

    def _ids(self, text: str) -> list[int]:
        if not text.strip():
            return []
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids


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
