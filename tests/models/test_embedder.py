"""The built-in embedder: golden vectors, any batch, any length, no truncation."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.errors import ModelDamaged, ModelMissing
from suffice.models.card import read_card
from suffice.models.catalog import EMBEDDERS, open_embedder, weights
from suffice.models.embedder import OnnxEmbedder, windows
from suffice.settings import EmbedderSettings
from tests.fakes import HashEmbedder

TEXTS = [
    "Parental leave is 20 weeks.",
    "A longer text about receipts, taxis and hotel rooms in Zurich. " * 6,
    "ok",
    "",
    "漢字 and عربى and emoji 🙂",
]


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    opened = open_embedder(EmbedderSettings())
    assert isinstance(opened, OnnxEmbedder)
    return opened


@pytest.mark.parametrize("name", EMBEDDERS)
def test_the_card_describes_the_files(name: str) -> None:
    card = read_card(weights(name))
    card.verify()
    assert sum(entry["bytes"] for entry in card.raw["files"].values()) < 30_000_000
    assert card.raw["licence"] == "Apache-2.0"
    measured = card.raw["measured"]["cosine_to_fp32"]
    assert {name: row["mean"] >= 0.98 for name, row in measured.items()} == {
        "scifact": True,
        "handbook": True,
    }
    assert (card.folder / "LICENSE").is_file()
    assert (card.folder / "NOTICE").is_file()


def test_golden_vectors(embedder: OnnxEmbedder) -> None:
    raw = read_card(weights(EMBEDDERS[0])).raw
    vectors = embedder.embed([row["text"] for row in raw["golden"]])
    for row, vector in zip(raw["golden"], vectors, strict=True):
        expected = pytest.approx(row["vector"], abs=raw["golden_tolerance"])
        assert vector[: len(row["vector"])] == expected


def test_unit_vectors_of_the_stated_size(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-3)


def test_no_texts(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_a_vector_does_not_depend_on_its_neighbours(embedder: OnnxEmbedder) -> None:
    together = embedder.embed(TEXTS)
    backwards = embedder.embed(TEXTS[::-1])[::-1]
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert np.abs(together - alone).max() < 1e-3
    assert np.abs(together - backwards).max() < 1e-3


def test_threads_change_nothing(embedder: OnnxEmbedder) -> None:
    single = open_embedder(EmbedderSettings(threads=1))
    assert np.abs(single.embed(TEXTS) - embedder.embed(TEXTS)).max() < 1e-3
    with ThreadPoolExecutor(8) as pool:
        many = list(pool.map(lambda text: embedder.embed([text])[0], TEXTS * 4))
    expected = embedder.embed(TEXTS)
    assert all(np.abs(v - expected[n % len(TEXTS)]).max() < 1e-3 for n, v in enumerate(many))


def test_a_long_text_is_pooled_not_cut(embedder: OnnxEmbedder) -> None:
    start = "Bicycles are blue and stand in the yard. " * 60
    ends = [start + "The pension plan pays six percent.", start + "Cats sleep on the roof."]
    assert len(embedder.token_ends(start)) > embedder.window
    one, other = embedder.embed(ends)
    assert np.abs(one - other).max() > 1e-3  # what stands past the window still counts


def test_meaning(embedder: OnnxEmbedder) -> None:
    q, near, far = embedder.embed(
        ["How long is parental leave?", "Mothers get 20 weeks off.", "Printers are on floor two."]
    )
    assert q @ near > q @ far + 0.2


def test_token_ends(embedder: OnnxEmbedder) -> None:
    assert embedder.token_ends("Leave now.") == [5, 9, 10]


def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    shutil.copytree(weights(EMBEDDERS[0]), folder)
    return folder


def test_a_changed_weight_file_is_refused(tmp_path: Path) -> None:
    folder = copy(tmp_path)
    data = bytearray((folder / "model.onnx").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "model.onnx").write_bytes(data)
    with pytest.raises(ModelDamaged, match="sha256"):
        read_card(folder).verify()
    (folder / "model.onnx").unlink()
    with pytest.raises(ModelDamaged, match="cannot be read"):
        read_card(folder).verify()


def test_a_folder_with_an_onnx_model(tmp_path: Path, embedder: OnnxEmbedder) -> None:
    folder = copy(tmp_path)
    own = open_embedder(EmbedderSettings(model=str(folder)))
    assert own.dimension == embedder.dimension
    assert own.id != embedder.id
    assert np.abs(own.embed(TEXTS[:1]) - embedder.embed(TEXTS[:1])).max() < 1e-3


def test_folders_that_hold_no_model(tmp_path: Path) -> None:
    for model in (str(tmp_path), str(tmp_path / "none"), "no-such-name"):
        with pytest.raises(ModelMissing):
            open_embedder(EmbedderSettings(model=model))
    folder = copy(tmp_path)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelDamaged, match=r"tokenizer\.json"):
        open_embedder(EmbedderSettings(model=str(folder)))
    (folder / "model.onnx").write_bytes(b"garbage")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelDamaged, match="cannot be loaded"):
        open_embedder(EmbedderSettings(model=str(folder)))


def test_a_sentence_transformers_folder_says_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text(json.dumps([]))
    with pytest.raises(ModelMissing, match="sentence-transformers"):
        open_embedder(EmbedderSettings(model=str(tmp_path)))


@given(st.text(max_size=200), st.integers(1, 20))
def test_windows_lose_nothing_and_keep_to_the_room(text: str, room: int) -> None:
    tokens = HashEmbedder()
    parts = windows(text, tokens.token_ends(text), room)
    assert "".join(parts) == text
    assert all(len(tokens.token_ends(part)) <= room for part in parts)
