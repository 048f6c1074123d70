"""The exported verifier: its heads, the same for a pair in any company, int8 near fp32."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

pytest.importorskip("onnx", reason="needs onnx, of the dev extra")
pytest.importorskip("safetensors", reason="needs safetensors, of the dev extra")

from suffice.models.card import read_card
from tests.training.tiny import TOKENIZER, WORDS
from training import verifier
from training.bases import BASES
from training.codes import read_codes, write_codes
from training.embedder import open_session
from training.export import FLOAT, INT8, PAD_MULTIPLE, BertShape, Graph, bert_encoder
from training.restore import tensors as restored
from training.rows import Label, Row, Task
from training.verifier import (
    GOLDEN_PAIRS,
    HEADS,
    MARKS,
    WINDOW,
    Made,
    Story,
    Tokens,
    Trained,
    build,
    feed,
    head,
    run,
    sample,
    tokens,
    training_sets,
    write_verifier,
)

HIDDEN, INNER, LAYERS = 32, 64, 3
CONFIG = {
    "num_hidden_layers": LAYERS,
    "hidden_size": HIDDEN,
    "num_attention_heads": 4,
    "layer_norm_eps": 1e-12,
}


def state() -> dict[str, Any]:
    """Tensors as training/train.py writes them: BERT's names, and three heads."""
    draw = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": (WINDOW, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        sizes = {f"attention.self.{part}": (HIDDEN, HIDDEN) for part in ("query", "key", "value")}
        sizes |= {"attention.output.dense": (HIDDEN, HIDDEN), "output.dense": (HIDDEN, INNER)}
        sizes |= {"intermediate.dense": (INNER, HIDDEN)}
        shapes |= {f"{prefix}.{name}.weight": size for name, size in sizes.items()}
        shapes |= {f"{prefix}.{name}.bias": size[:1] for name, size in sizes.items()}
        norms += [f"{prefix}.attention.output.LayerNorm", f"{prefix}.output.LayerNorm"]
    for name, columns in {**HEADS, "tokens": MARKS}.items():
        shapes |= {f"{name}.weight": (len(columns), HIDDEN), f"{name}.bias": (len(columns),)}
    made: dict[str, Any] = {
        name: (draw.normal(size=size) * 0.3).astype(np.float32) for name, size in shapes.items()
    }
    for name in norms:
        made[f"{name}.weight"] = np.ones(HIDDEN, np.float32)
        made[f"{name}.bias"] = np.zeros(HIDDEN, np.float32)
    return made


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    made = Made("tiny-verifier", "msmarco", tmp_path_factory.mktemp("out") / "tiny", "For a test. ")
    return Trained(made, CONFIG, state(), TOKENIZER)


@pytest.fixture(scope="module")
def int8(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("int8") / "model.onnx"
    write_verifier(trained, INT8, path)
    return open_session(path)


@pytest.fixture(scope="module")
def fp32(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("fp32") / "model.onnx"
    write_verifier(trained, FLOAT, path)
    return open_session(path)


def pair(draw: np.random.Generator, length: int) -> Tokens:
    ids = [int(n) for n in draw.integers(4, len(WORDS), length)]
    cut = length // 2
    return [2, *ids[1:]], [0] * cut + [1] * (length - cut)


def pairs(count: int, seed: int = 0) -> list[Tokens]:
    draw = np.random.default_rng(seed)
    return [pair(draw, int(draw.integers(3, 120))) for _ in range(count)]


def test_one_batch_gives_a_row_a_pair_and_a_column_a_class(int8: Any) -> None:
    given_names = {entry.name: entry.type for entry in int8.get_inputs()}
    assert given_names == dict.fromkeys(
        ("input_ids", "attention_mask", "token_type_ids"), "tensor(int64)"
    )
    scores = run(int8, pairs(3))
    assert {name: values.shape for name, values in scores.items()} == {
        "support": (3, 3),
        "sufficiency": (3, 2),
    }


@given(
    company=st.lists(st.integers(3, 90), max_size=5),
    place=st.integers(0, 5),
    extra=st.integers(0, 40),
    length=st.integers(3, 90),
)
@settings(max_examples=40, deadline=None)
def test_a_pair_scores_the_same_in_any_company(
    int8: Any, company: list[int], place: int, extra: int, length: int
) -> None:
    draw = np.random.default_rng(length)
    one = pair(draw, length)
    others = [pair(draw, other) for other in company]
    place = min(place, len(others))
    alone = run(int8, [one])
    together = run(int8, [*others[:place], one, *others[place:]], extra)
    for name in HEADS:
        # Equal to the bit on ARM; elsewhere a batch of one may take another kernel in the heads.
        np.testing.assert_allclose(alone[name][0], together[name][place], atol=1e-5)


def test_int8_is_near_fp32_and_pairs_differ(int8: Any, fp32: Any) -> None:
    for name in HEADS:
        ours = np.concatenate([run(int8, [one])[name] for one in pairs(40)])
        exact = np.concatenate([run(fp32, [one])[name] for one in pairs(40)])
        assert np.abs(ours - exact).mean() < 0.02
        assert np.abs(ours - exact).max() < 0.1
        assert exact.std(axis=0).max() > 0.1


def with_distances(trained: Trained, table: Any, folder: Path) -> Any:
    """The verifier with a bias for each head and distance, in fp32."""
    tensors = {**trained.tensors, "relative": table.astype(np.float32)}
    write_verifier(replace(trained, tensors=tensors), FLOAT, folder / "distances.onnx")
    return open_session(folder / "distances.onnx")


def test_a_bias_that_is_the_same_for_every_distance_changes_nothing(
    trained: Trained, fp32: Any, tmp_path: Path
) -> None:
    table = np.repeat(np.arange(4.0)[:, None], 2 * WINDOW - 1, axis=1)
    ours, plain = (run(one, pairs(8)) for one in (with_distances(trained, table, tmp_path), fp32))
    for name in HEADS:
        np.testing.assert_allclose(ours[name], plain[name], atol=1e-5)


@pytest.mark.parametrize(("ahead", "alone"), [(-1e4, True), (1.0, False)])
def test_a_bias_against_what_comes_later_hides_it_from_the_first_token(
    trained: Trained, tmp_path: Path, ahead: float, alone: bool
) -> None:
    table = np.zeros((4, 2 * WINDOW - 1))
    table[:, WINDOW:] = ahead
    session = with_distances(trained, table, tmp_path)
    ids, kinds = pairs(1)[0]
    changed = [ids[0], *ids[:0:-1]]
    either, other = (run(session, [(chosen, kinds)])["support"] for chosen in (ids, changed))
    assert bool(np.abs(either - other).max() < 1e-5) is alone


def test_segments_are_read(fp32: Any) -> None:
    ids, kinds = pairs(1)[0]
    swapped = [1 - kind for kind in kinds]
    either, other = (run(fp32, [(ids, chosen)])["support"] for chosen in (kinds, swapped))
    assert np.abs(either - other).max() > 1e-3


def test_the_first_token_alone_is_what_the_whole_encoder_gives(
    trained: Trained, fp32: Any, tmp_path: Path
) -> None:
    graph = Graph()
    shape = BertShape.from_config(trained.config)
    hidden, _ = bert_encoder(graph, trained.tensors, shape, FLOAT, segments=True)
    first = graph.add("Gather", hidden, graph.constant("first", np.array(0)), axis=1)
    for name, columns in HEADS.items():
        logits = head(graph, name, trained.tensors, first)
        graph.output(name, logits, ["batch", len(columns)])
    graph.save(tmp_path / "whole.onnx")
    whole = run(open_session(tmp_path / "whole.onnx"), pairs(8))
    ours = run(fp32, pairs(8))
    for name in HEADS:
        np.testing.assert_allclose(ours[name], whole[name], atol=1e-5)


def test_the_tokens_are_marked_after_the_last_layer_but_one(
    trained: Trained, fp32: Any, tmp_path: Path
) -> None:
    graph = Graph()
    shape = replace(BertShape.from_config(trained.config), layers=LAYERS - 1)
    every, _ = bert_encoder(graph, trained.tensors, shape, FLOAT, segments=True)
    graph.output("every", every, ["batch", "padded", HIDDEN])
    graph.save(tmp_path / "before.onnx")
    batch = feed(pairs(5))
    (states,) = open_session(tmp_path / "before.onnx").run(["every"], batch)
    (marks,) = fp32.run(["tokens"], batch)
    width = batch["input_ids"].shape[1]
    assert marks.shape == (5, -(-width // PAD_MULTIPLE) * PAD_MULTIPLE, len(MARKS))
    weight, bias = (trained.tensors[f"tokens.{part}"] for part in ("weight", "bias"))
    np.testing.assert_allclose(marks, states @ weight.T + bias, atol=1e-4)


def test_weights_read_from_their_codes_are_exported_to_the_same_bytes(
    trained: Trained, tmp_path: Path
) -> None:
    write_codes(tmp_path / "weights.npz", trained.tensors)
    again = replace(trained, tensors=read_codes(tmp_path / "weights.npz"))
    for one, name in ((trained, "exact"), (again, "codes")):
        write_verifier(one, INT8, tmp_path / f"{name}.onnx")
    assert (tmp_path / "exact.onnx").read_bytes() == (tmp_path / "codes.onnx").read_bytes()


def test_the_card_says_what_the_files_are(trained: Trained, tmp_path: Path) -> None:
    evidence = " ".join(["weeks"] * 30)
    rows = [
        Row(task, f"w{n} leave", evidence, Label.UNLABELLED, "near")
        for task in Task
        for n in range(20)
    ]
    line = {"support": {"slope": 1.0, "offset": 0.0}}
    story = Story({"snli": {"rows": 3, "licences": ["CC-BY-SA-4.0"]}}, {"labelled": 3}, line)
    out = trained.made.out
    build(trained, sample(rows, 10), story, tmp_path)
    card = read_card(out)
    card.verify()
    assert (card.name, card.version, card.window) == ("tiny-verifier", "1", WINDOW)
    assert card.dimension == HIDDEN
    raw = card.raw
    assert raw["task"] == "verification"
    assert raw["seed"] == 7
    assert raw["heads"] == {
        "support": ["supported", "not_mentioned", "contradicted"],
        "sufficiency": ["lacking", "enough"],
        "tokens": ["answers", "wrong"],
    }
    assert raw["base"] == BASES["msmarco"].card
    assert raw["licence"] == "Apache-2.0"
    assert raw["recipe"].startswith("For a test. Exported ")
    assert raw["training_sets"]["snli"]["licences"] == ["CC-BY-SA-4.0"]
    assert raw["training_rows"] == {"labelled": 3}
    assert raw["calibration"] == line
    assert {name: of["pairs"] for name, of in raw["measured"]["distance_to_fp32"].items()} == {
        "support": 10,
        "sufficiency": 10,
    }
    assert [(one["said"], one["evidence"]) for one in raw["golden"]] == list(GOLDEN_PAIRS)
    for one in raw["golden"]:
        assert sum(one["support"]) == pytest.approx(1, abs=1e-3)
        assert sum(one["sufficiency"]) == pytest.approx(1, abs=1e-3)
    assert "MS MARCO" in (out / "NOTICE").read_text("utf-8")
    first = (out / "model.onnx").read_bytes()
    build(trained, sample(rows, 10), story, tmp_path)
    assert (out / "model.onnx").read_bytes() == first


def test_a_constant_in_a_file_of_its_own_gives_the_same_scores(
    trained: Trained, tmp_path: Path
) -> None:
    made = replace(trained.made, out=tmp_path / "apart", apart="words.int8")
    rows = [Row(Task.SUPPORT, "w1 leave", "weeks", Label.UNLABELLED, "near")]
    for one in (trained, replace(trained, made=made)):
        build(one, rows, Story(), tmp_path)
    whole, apart = read_card(trained.made.out), read_card(made.out)
    apart.verify()
    assert set(apart.files) == {*whole.files, "words.bin"}
    assert (made.out / "model.onnx").stat().st_size < (whole.folder / "model.onnx").stat().st_size
    assert apart.raw["golden"] == whole.raw["golden"]


def test_a_larger_file_than_intended_is_refused(trained: Trained, tmp_path: Path) -> None:
    small = replace(trained, made=replace(trained.made, out=tmp_path / "small", largest=1000))
    rows = [Row(Task.SUPPORT, "w1 leave", "weeks", Label.UNLABELLED, "near")]
    with pytest.raises(SystemExit, match="1000 is the most it should have"):
        build(small, rows, Story(), tmp_path)


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


def test_licences_are_counted_by_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = {"grounding": [("a", "MIT"), ("b", "CC0")], "sufficiency": [("a", "BSD"), ("a", "MIT")]}
    for name, entries in rows.items():
        sets = [{"set": of, "licence": licence} for of, licence in entries]
        write(tmp_path / name / "train.jsonl.gz", sets)
    case: dict[str, Any] = {"id": "bank-3", "source": "bank", "file": "a.html"}
    case |= {"licence": "CC-BY-4.0"}
    shared = case | {"id": "bank-4", "passages": ["A cover  page."]}
    write(tmp_path / "written" / "train.jsonl.gz", [case | {"passages": ["Fees."]}, shared])
    write(tmp_path / "written" / "unwritten.jsonl.gz", [])
    write(tmp_path / "written" / "dev.jsonl.gz", [{"passages": ["A cover page."]}])
    monkeypatch.setattr(verifier, "ANNOTATIONS", tmp_path / "none")
    assert training_sets(tmp_path) == {
        "a": {"rows": 3, "licences": ["BSD", "MIT"]},
        "b": {"rows": 1, "licences": ["CC0"]},
        "written bank (by language models, audited)": {"rows": 1, "licences": ["CC-BY-4.0"]},
    }


def test_no_training_files_is_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="--data"):
        training_sets(tmp_path)


def test_a_long_pair_fits_the_window_and_ends_well() -> None:
    read = Tokenizer.from_str(TOKENIZER)
    row = Row(Task.SUPPORT, "w1 " * 400, "w2 " * 900, Label.UNLABELLED, "near", question="leave")
    ids, kinds = tokens(read, row)
    assert len(ids) == len(kinds) == WINDOW
    assert (ids[0], ids[-1], ids[WINDOW // 2 + 1]) == (2, 3, 3)
    assert kinds == [0] * (WINDOW // 2 + 2) + [1] * (WINDOW // 2 - 2)


def test_an_exported_file_read_back_and_exported_again_is_the_same(
    trained: Trained, tmp_path: Path
) -> None:
    write_verifier(trained, INT8, tmp_path / "model.onnx")
    read = dict(restored(tmp_path / "model.onnx"))
    assert read.keys() == trained.tensors.keys()
    write_verifier(replace(trained, tensors=read), INT8, tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "model.onnx").read_bytes()
