"""A user's own verifier: tiny models with known outputs, written to disk and opened."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import TensorProto
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from suffice.errors import ExtraMissing, ModelDamaged, ModelMissing, ModelUnreachable
from suffice.models import hub
from suffice.models.hub import HubVerifier, Reader, open_hub, read_window
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds
from training.export import Graph

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = "yes no maybe The a leave pay is weeks days 20 30 . ? how long filler other".split()
VOCABULARY = {word: n for n, word in enumerate(MARKS + WORDS)}
WINDOW = 64
NLI = {"0": "contradiction", "1": "entailment", "2": "neutral"}
FILLER = "filler filler filler filler ."


@dataclass(frozen=True)
class Fallback:
    """Answers only what the hub model was not trained for."""

    id: str = "fallback-1"
    tier: str = "fast"
    thresholds: Thresholds = field(default_factory=lambda: Thresholds(0.9, 0.7))

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        raise AssertionError("the hub model answers this")

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return [SufficiencyScore(0.25, len(pair.evidence) - 1) for pair in pairs]


def tokenizer() -> Any:
    made = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.add_special_tokens(MARKS)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(mark, VOCABULARY[mark]) for mark in ("[CLS]", "[SEP]")],
    )
    made.enable_truncation(8)  # what a checkpoint often carries, and nobody may obey
    made.enable_padding(length=50)
    return made


def plain() -> Any:
    made = tokenizer()
    made.no_truncation()
    made.no_padding()
    return made


def inputs(graph: Graph, segments: bool = False) -> tuple[str, str]:
    """The ids, and a float mask of the tokens that count. More tokens than WINDOW do not run."""
    ids = graph.input("input_ids", ["batch", "tokens"])
    mask = graph.input("attention_mask", ["batch", "tokens"])
    if segments:
        kinds = graph.input("token_type_ids", ["batch", "tokens"])
        mask = graph.add("Mul", mask, graph.add("Sub", graph.integers(1), kinds))
    count = graph.add(
        "Slice", graph.add("Shape", ids), graph.integers(1), graph.integers(2), graph.integers(0)
    )
    places = graph.constant("places", np.zeros(WINDOW, np.float32))
    used = graph.add("Slice", places, graph.integers(0), count, graph.integers(0))
    return ids, graph.add("Add", graph.add("Cast", mask, to=TensorProto.FLOAT), used)


def bag_of_words(path: Path, table: NDArray[np.float32], segments: bool = False) -> None:
    """A cross-encoder whose logits are the sum of its words' rows in the table."""
    graph = Graph()
    ids, mask = inputs(graph, segments)
    rows = graph.add("Gather", graph.constant("table", table), ids)
    weighed = graph.add("MatMul", graph.add("Unsqueeze", mask, graph.integers(1)), rows)
    logits = graph.add("Squeeze", weighed, graph.integers(1))
    graph.output("logits", logits, ["batch", table.shape[1]])
    graph.save(path)


def copy_finder(path: Path) -> None:
    """A token classifier: a word that stands once is made up (logit 2), a repeated one is not."""
    graph = Graph()
    ids, mask = inputs(graph)
    one, other = (graph.add("Unsqueeze", ids, graph.integers(axis)) for axis in (2, 1))
    same = graph.add("Cast", graph.add("Equal", one, other), to=TensorProto.FLOAT)
    column = graph.add("Unsqueeze", mask, graph.integers(2))
    copies = graph.add("MatMul", same, column)
    made_up = graph.add("Sub", graph.number(6.0), graph.add("Mul", copies, graph.number(4.0)))
    zero = graph.add("Mul", made_up, graph.number(0.0))
    graph.output("logits", graph.add("Concat", zero, made_up, axis=2), ["batch", "tokens", 2])
    graph.save(path)


def weights(**columns: dict[str, float]) -> NDArray[np.float32]:
    """A table from label to the words that raise it. Padding raises the first, if it is read."""
    table = np.zeros((len(VOCABULARY), len(columns)), np.float32)
    table[VOCABULARY["[PAD]"], 0] = 50
    for column, words in enumerate(columns.values()):
        for word, weight in words.items():
            table[VOCABULARY[word], column] = weight
    return table


TABLE = weights(contra={"no": 3.0}, entail={"yes": 3.0}, neutral={"[CLS]": 1.0, "maybe": 3.0})


def describe(folder: Path, **config: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    told = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "max_position_embeddings": WINDOW,
        "pad_token_id": 0,
        "id2label": NLI,
    }
    (folder / "config.json").write_text(json.dumps(told | config))
    tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def model(
    folder: Path, table: NDArray[np.float32] = TABLE, segments: bool = False, **config: Any
) -> HubVerifier:
    describe(folder, **config)
    bag_of_words(folder / "model.onnx", table, segments)
    return opened(folder)


def opened(folder: Path | str, *, english: bool = True) -> HubVerifier:
    verifier = open_hub(str(folder), 1, Fallback(), english=english)
    assert isinstance(verifier, HubVerifier)
    return verifier


def score(verifier: HubVerifier, said: str, *evidence: str, question: str = "") -> SupportScore:
    return verifier.support([Pair(said, evidence, question)])[0]


def softmax(*logits: float) -> list[float]:
    powers = np.exp(np.array(logits))
    return list(powers / powers.sum())


def numbers(found: SupportScore) -> list[float]:
    assert not found.unchecked
    return [found.supported, found.contradicted, found.not_mentioned]


@pytest.fixture(scope="module")
def nli(tmp_path_factory: pytest.TempPathFactory) -> HubVerifier:
    return model(tmp_path_factory.mktemp("hub") / "small-nli")


@pytest.fixture(scope="module")
def lettuce(tmp_path_factory: pytest.TempPathFactory) -> HubVerifier:
    folder = tmp_path_factory.mktemp("hub") / "small-lettuce"
    describe(folder, architectures=["ModernBertForTokenClassification"], id2label=None)
    (folder / "onnx").mkdir()
    copy_finder(folder / "onnx" / "model.onnx")
    return opened(folder)


def test_the_scores_are_the_softmax_of_the_logits(nli: HubVerifier) -> None:
    contradicted, supported, neutral = softmax(0, 3, 1)
    found = score(nli, "The leave is 20 weeks .", "yes .")
    assert numbers(found) == pytest.approx([supported, contradicted, neutral], abs=1e-5)
    assert found.passage == 0


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        (["entailment", "neutral", "contradiction"], [1, 2, 0]),
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], [0, 2, 1]),
        (["Entailed", "Contradicts", "Neutral"], [1, 0, 2]),
    ],
)
def test_the_order_of_the_labels_is_read(
    tmp_path: Path, labels: list[str], columns: list[int]
) -> None:
    told = {str(n): label for n, label in enumerate(labels)}
    verifier = model(tmp_path / "m", TABLE[:, columns], id2label=told)
    contradicted, supported, neutral = softmax(3, 6, 1)
    found = score(verifier, "The leave is 20 weeks .", "yes yes no .")
    assert numbers(found) == pytest.approx([supported, contradicted, neutral], abs=1e-5)


@pytest.mark.parametrize("labels", [["entailment", "not_entailment"], ["entailment", "neutral"]])
def test_two_labels(tmp_path: Path, labels: list[str]) -> None:
    verifier = model(tmp_path / "m", TABLE[:, 1:], id2label=dict(enumerate(labels)))
    supported, rest = softmax(3, 1)
    found = score(verifier, "The leave .", "yes")
    assert numbers(found) == pytest.approx([supported, 0, rest], abs=1e-5)


def test_one_logit_is_a_sigmoid(tmp_path: Path) -> None:
    verifier = model(tmp_path / "m", TABLE[:, 1:2], id2label={"0": "entailment"})
    supported, rest = softmax(3, 0)
    found = score(verifier, "The leave .", "yes")
    assert numbers(found) == pytest.approx([supported, 0, rest], abs=1e-5)


@pytest.mark.parametrize(
    "told",
    [
        {"id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}},
        {"id2label": None},
        {"id2label": {"0": "LABEL_0"}},
        {"id2label": None, "num_labels": 1},
        {"id2label": {"0": "hallucinated"}},
        {"id2label": {"0": "positive", "1": "entailment"}},
        {"id2label": {"0": "entailment", "1": "entailment"}},
        {"id2label": {"zero": "entailment", "1": "neutral"}},
        {"id2label": ["entailment", "neutral"]},
        {"architectures": ["BertForMaskedLM"]},
        {"architectures": ["BertForTokenClassification"], "id2label": {"0": "O", "1": "PERSON"}},
    ],
)
def test_labels_that_say_nothing_are_refused(tmp_path: Path, told: dict[str, Any]) -> None:
    with pytest.raises(ModelDamaged, match=r"Add id2label to its config\.json"):
        model(tmp_path / "m", **told)


def test_the_labels_that_say_nothing_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelDamaged, match=r"labels are LABEL_0, .*entailment for a single output"):
        model(tmp_path / "m", TABLE[:, 1:2], id2label={"0": "LABEL_0"})


def test_labels_that_are_not_the_models(tmp_path: Path) -> None:
    verifier = model(tmp_path / "m", TABLE[:, :2])
    with pytest.raises(ModelDamaged, match="3 labels"):
        score(verifier, "The leave .", "yes")


def test_segments_are_given_where_the_graph_asks(tmp_path: Path) -> None:
    verifier = model(tmp_path / "m", segments=True)
    contradicted, supported, neutral = softmax(0, 3, 1)
    found = score(verifier, "no no no", "yes")  # only what is of segment 0, the evidence, counts
    assert numbers(found) == pytest.approx([supported, contradicted, neutral], abs=1e-5)


def test_tokens_are_judged_one_by_one(lettuce: HubVerifier) -> None:
    right, wrong = softmax(0, -2)[0], softmax(0, 2)[0]
    evidence = "The leave is 20 weeks ."
    assert numbers(score(lettuce, "leave is 20", evidence)) == pytest.approx([right, 0, 1 - right])
    assert numbers(score(lettuce, "leave is 30", evidence)) == pytest.approx([wrong, 0, 1 - wrong])
    asked = score(lettuce, "leave is 30", evidence, question="30 ?")
    assert asked.supported == pytest.approx(right)


def test_the_made_up_label_may_be_named(tmp_path: Path, lettuce: HubVerifier) -> None:
    told = {"0": "HALLUCINATED", "1": "not_hallucinated"}
    describe(tmp_path, architectures=["BertForTokenClassification"], id2label=told)
    copy_finder(tmp_path / "model.onnx")
    one, other = (score(v, "leave is 30", "leave is 20") for v in (opened(tmp_path), lettuce))
    assert one.supported < 0.5
    assert one.supported == pytest.approx(softmax(2, 0)[1])  # "leave" is called made up
    assert other.supported == pytest.approx(softmax(0, 2)[0])


@pytest.mark.parametrize("place", [0, 7, 19])
def test_support_in_any_window_is_found(nli: HubVerifier, place: int) -> None:
    facts = [FILLER] * 20
    facts[place] = "yes yes ."
    evidence = " ".join(facts)
    assert len(nli.reader.read(Pair("The leave .", (evidence,))).windows) > 1
    contradicted, supported, neutral = softmax(0, 6, 1)
    found = score(nli, "The leave .", evidence)
    assert numbers(found) == pytest.approx([supported, contradicted, neutral], abs=1e-5)


def test_what_contradicts_most_counts_unless_another_supports_more(nli: HubVerifier) -> None:
    long = " ".join([FILLER] * 12)
    against = score(nli, "The leave .", f"{long} no .", long, f"yes . {long}", f"no no . {long}")
    assert against.passage == 3
    assert against.contradicted == pytest.approx(softmax(6, 0, 1)[0], abs=1e-5)
    backed = score(nli, "The leave .", f"no . {long}", f"{long} yes yes .")
    assert (backed.passage, backed.contradicted < 0.01) == (1, True)


def test_passages_that_fit_are_read_together(nli: HubVerifier) -> None:
    found = score(nli, "The leave is 20 weeks .", "yes .", "", "leave is 20 weeks yes", "The .")
    assert found.supported == pytest.approx(softmax(0, 6, 1)[1], abs=1e-5)
    assert found.passage == 2


def test_a_sentence_longer_than_the_window_is_read_whole(nli: HubVerifier) -> None:
    evidence = "filler " * 300 + "yes yes"
    found = score(nli, "The leave .", evidence)
    assert found.supported == pytest.approx(softmax(0, 6, 1)[1], abs=1e-5)


def test_a_score_does_not_depend_on_its_neighbours(nli: HubVerifier, lettuce: HubVerifier) -> None:
    pairs = [
        Pair("The leave is 20 weeks .", ("yes maybe",)),
        Pair("no", (f"{FILLER} no . " * 15,)),
        Pair("", ("yes",)),
        Pair("leave is long . " * 6, ("maybe a filler yes .", FILLER * 9)),
        Pair("20 weeks", ("no . leave", "yes"), "how long is leave ?"),
    ]
    for verifier in (nli, lettuce):
        together = verifier.support(pairs)
        backwards = verifier.support(pairs[::-1])[::-1]
        alone = [verifier.support([pair])[0] for pair in pairs]
        for one, other, third in zip(together, backwards, alone, strict=True):
            assert (one.passage, one.unchecked) == (third.passage, third.unchecked)
            for found in (one, other):
                assert found.supported == pytest.approx(third.supported, abs=1e-4)
                assert found.contradicted == pytest.approx(third.contradicted, abs=1e-4)


def test_what_cannot_be_judged_is_unchecked(nli: HubVerifier, tmp_path: Path) -> None:
    assert nli.support([]) == []
    for said in ("", " \n\t"):
        assert score(nli, said, "yes").unchecked == "There is nothing to judge."
    assert "no evidence" in score(nli, "The leave .").unchecked
    assert "no evidence" in score(nli, "The leave .", "", "  ").unchecked
    assert not score(nli, "leave " * 29, "yes").unchecked
    assert "too long" in score(nli, "leave " * 30, "yes").unchecked
    broken = model(tmp_path / "m", np.full_like(TABLE, np.nan))
    assert score(broken, "The leave .", "yes").unchecked == "The model returned no number."


def test_another_language_is_judged_only_where_the_model_is_said_to_read_it(tmp_path: Path) -> None:
    german = "Die Elternzeit dauert zwanzig Wochen und ist bezahlt."
    verifier = model(tmp_path / "m")
    assert (
        score(verifier, german, "yes").unchecked
        == "The model only reads English; this is in German."
    )
    assert "the evidence is in German" in score(verifier, "The leave .", german).unchecked
    assert not score(verifier, "The leave is 20 weeks .", "yes").unchecked
    told = opened(tmp_path / "m", english=False)
    assert numbers(score(told, german, "yes")) == numbers(score(verifier, "The leave .", "yes"))


def test_marks_in_a_text_are_words_like_any_other(nli: HubVerifier) -> None:
    (window,) = nli.reader.read(Pair("leave [SEP] no", ("yes [CLS]",))).windows
    assert window.encoding.ids.count(VOCABULARY["[SEP]"]) == 2
    assert window.encoding.ids.count(VOCABULARY["[CLS]"]) == 1


def test_what_it_is_called_and_what_it_leaves_to_the_fallback(
    nli: HubVerifier, tmp_path: Path
) -> None:
    verifier = model(tmp_path / "mine")
    digest = hashlib.sha256((tmp_path / "mine" / "model.onnx").read_bytes()).hexdigest()
    assert (verifier.id, verifier.tier) == (f"mine-{digest[:8]}", "hub")
    assert verifier.thresholds == Thresholds(0.5, 0.7)
    assert verifier.sufficiency([Pair("how long ?", ("a", "b"))]) == [SufficiencyScore(0.25, 1)]
    assert score(verifier, "The leave .", "yes").tier == "hub"
    assert model(tmp_path / "other", TABLE * 2).id.removeprefix("other-") != digest[:8]


@pytest.mark.parametrize(
    ("config", "limit", "window"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512}, None, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514}, 512, 512),
        ({"model_type": "xlm-roberta", "max_position_embeddings": 514}, None, 512),
        ({"model_type": "modernbert", "max_position_embeddings": 8192}, 4096, 4096),
        ({"model_type": "deberta-v2", "max_position_embeddings": 512}, int(1e30), 512),
        ({}, None, 512),
    ],
)
def test_the_window(tmp_path: Path, config: dict[str, Any], limit: int | None, window: int) -> None:
    if limit:
        told = json.dumps({"model_max_length": limit})
        (tmp_path / "tokenizer_config.json").write_text(told)
    assert read_window(tmp_path, config) == window


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.integers(4, 40))
def test_stretches_lose_nothing_and_keep_to_the_room(lengths: list[int], room: int) -> None:
    facts = [" ".join(f"Word{n}x{word}" for word in range(m)) for n, m in enumerate(lengths)]
    text = ". ".join(facts)
    reader = Reader(plain(), 512)
    found = list(reader.stretches(text, room))
    assert all(len(reader.tokenizer.encode(s, add_special_tokens=False)) <= room for s in found)
    read = re.findall(r"\w+", " ".join(found))
    assert list(dict.fromkeys(read)) == re.findall(r"\w+", text)


def test_neighbouring_stretches_share_a_sentence() -> None:
    facts = ["Leave is long.", "The pay is weeks.", "The filler is other.", "The days is how."]
    found = list(Reader(plain(), 512).stretches(" ".join(facts), 10))
    assert found == [" ".join(facts[n : n + 2]) for n in range(3)]


def test_folders_that_hold_no_model(tmp_path: Path) -> None:
    folder = describe(tmp_path / "m")
    with pytest.raises(ModelMissing, match="contains no weights"):
        opened(folder)
    (folder / "model.onnx").write_bytes(b"garbage")
    with pytest.raises(ModelDamaged, match="cannot be loaded"):
        opened(folder)
    bag_of_words(folder / "model.onnx", TABLE)
    for name, damage in (("tokenizer.json", "{}"), ("config.json", "{"), ("config.json", "[]")):
        kept = (folder / name).read_text()
        (folder / name).write_text(damage)
        with pytest.raises(ModelDamaged, match=name):
            opened(folder)
        (folder / name).unlink()
        with pytest.raises(ModelDamaged, match=name):
            opened(folder)
        (folder / name).write_text(kept)
    assert opened(folder).tier == "hub"


def test_a_graph_that_asks_for_more(tmp_path: Path) -> None:
    graph = Graph()
    extra = graph.input("pixels", ["batch", "tokens"])
    graph.output("logits", graph.add("Cast", extra, to=TensorProto.FLOAT), ["batch", "tokens"])
    graph.save(describe(tmp_path) / "model.onnx")
    with pytest.raises(ModelDamaged, match="pixels"):
        opened(tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_torch_weights_without_torch(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "find_spec", lambda name: None)
    (describe(tmp_path) / name).write_bytes(b"")
    with pytest.raises(ModelMissing, match="pip install transformers torch"):
        opened(tmp_path)


@pytest.mark.parametrize("tokens", [False, True])
def test_torch_weights_with_torch(tmp_path: Path, tokens: bool) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    kind = "BertForTokenClassification" if tokens else "BertForSequenceClassification"
    labels = {0: "fine", 1: "hallucinated"} if tokens else {int(n): x for n, x in NLI.items()}
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=WINDOW, id2label=labels,
        initializer_range=0.5,
    )  # fmt: skip
    made = getattr(transformers, kind)(config).eval()
    made.save_pretrained(tmp_path)
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    verifier = opened(tmp_path)
    pairs = [Pair("leave is 20", ("yes",)), Pair("no pay", (f"{FILLER} " * 20, "maybe"))]
    found = verifier.support(pairs)
    assert found[1].supported == pytest.approx(verifier.support(pairs[1:])[0].supported, abs=1e-4)
    (window,) = verifier.reader.read(pairs[0]).windows
    ids, kinds = torch.tensor([window.encoding.ids]), torch.tensor([window.encoding.type_ids])
    shares = made(input_ids=ids, token_type_ids=kinds).logits.softmax(-1)[0].detach().numpy()
    expected = 1 - shares[3:6, 1].max() if tokens else shares[1]
    assert found[0].supported == pytest.approx(float(expected), abs=1e-5)
    (tmp_path / "model.safetensors").write_bytes(b"garbage")
    with pytest.raises(ModelDamaged, match="cannot be loaded"):
        opened(tmp_path)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub's, and a hub that does not answer."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    return tmp_path / "cache"


def test_a_hub_name_without_the_hubs_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    said = r"'some-org/some-nli' is not a folder, .* pip install 'suffice\[hub\]'"
    with pytest.raises(ExtraMissing, match=said):
        opened("some-org/some-nli")
    assert model(tmp_path / "m").tier == "hub"


def test_a_hub_name_without_a_network(cache: Path) -> None:
    with pytest.raises(ModelUnreachable, match="download the model and set its folder") as caught:
        opened("some-org/some-nli")
    assert "no folder 'some-org/some-nli'" in str(caught.value)


class EmptyHub(BaseHTTPRequestHandler):
    """A hub that holds no model."""

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_hub_name_that_is_not_on_the_hub(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    with HTTPServer(("127.0.0.1", 0), EmptyHub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(ModelMissing, match="hf auth login"):
            opened("some-org/some-nli")
        server.shutdown()


def test_a_hub_name_that_lies_in_the_cache(cache: Path) -> None:
    stored = cache / "models--some-org--some-nli"
    (stored / "refs").mkdir(parents=True)
    (stored / "refs" / "main").write_text("0" * 40)
    folder = stored / "snapshots" / ("0" * 40)
    model(folder)
    verifier = opened("some-org/some-nli")
    assert verifier.id.startswith("some-nli-")
    assert score(verifier, "The leave .", "yes").supported > 0.8
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelDamaged, match=r"tokenizer\.json"):
        opened("some-org/some-nli")


@pytest.mark.parametrize("name", ["no-such-name", "./no/such", "a/b/c", "/no/such", ""])
def test_what_is_neither_a_folder_nor_a_hub_name(name: str) -> None:
    with pytest.raises(ModelMissing, match="org/name"):
        opened(name)
