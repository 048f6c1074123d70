"""The tokenizer of the models that ship gives the tokens of the `tokenizers` library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from suffice.models.tokens import WordPiece, load_fast_tokenizer, load_tokenizer

ROOT = Path(__file__).parent.parent.parent
FILES = sorted(
    (
        *ROOT.glob("src/suffice/models/weights/*/tokenizer.json"),
        *ROOT.glob("strong/**/tokenizer.json"),
    )
)
FILE = FILES[0]
SENTENCES = (
    "Café naïve RÉSUMÉ: 1,234.50 € — “quoted” don't; e-mail@example.org",
    "日本語 text, 한국어, हिन्दी, İstanbul, ﬁne, x²",
    "[CLS] a [SEP] is text here\x00\u200b\ufffd\u00ad, and\u00a0so\u2003on\n\n\t",
    "x" * 101 + " " + "y" * 100 + " cafe\u0301 🙂🏽",
    "",
)


def same(text: str, file: Path = FILE) -> None:
    own, library = load_tokenizer(file), load_fast_tokenizer(file)
    for marked in (False, True):
        mine = own.encode(text, add_special_tokens=marked)
        assert mine.ids == library.encode(text, add_special_tokens=marked).ids
    assert mine.offsets == library.encode(text, add_special_tokens=False).offsets


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_every_model_that_ships_uses_it(file: Path) -> None:
    assert isinstance(load_tokenizer(file), WordPiece)
    assert isinstance(load_fast_tokenizer(file), Tokenizer)
    for text in SENTENCES:
        same(text, file)


def test_documents_have_the_same_tokens_at_the_same_places() -> None:
    for path in sorted((ROOT / "src" / "suffice" / "handbook").glob("*.md")):
        same(path.read_text(encoding="utf-8"))


# Letters, marks and signs up to the emoji; the library's tables of rarer scripts are older.
@given(
    st.text(
        st.characters(max_codepoint=0x52F)
        | st.characters(min_codepoint=0x2000, max_codepoint=0x2BFF)
        | st.sampled_from("中文한글🙂\u0301\u200d\ufe0f ")
    )
)
def test_any_text_has_the_same_tokens_at_the_same_places(text: str) -> None:
    same(text)


def test_many_words_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.models.tokens._MOST_WORDS", 2)
    made = WordPiece({"[UNK]": 0, "a": 1, "##b": 2, "b": 3}, "[UNK]", "##", 100)
    texts = ("a", "ab", "b", "abc", "b")
    ids = [encoding.ids for encoding in made.encode_batch(texts, add_special_tokens=False)]
    assert ids == [[1], [1, 2], [3], [0], [3]]
    assert len(made._known) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": None},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}]}},
        {"model": {"type": "BPE"}},
        {"added_tokens": [{"special": False}]},
    ],
)
def test_another_kind_of_tokenizer_is_left_to_the_library(change: Mapping[str, Any]) -> None:
    described = json.loads(FILE.read_text(encoding="utf-8"))
    assert WordPiece.described(described) is not None
    assert WordPiece.described({**described, **change}) is None
