"""The canonical form: equal values have equal texts, which read back unchanged."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.log.chain import canonical, digest, parse

# Any text that Python can hold, halves of surrogate pairs and NUL among it.
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def whole(text: str) -> str:
    """Two adjacent surrogates read back as the character they encode."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def settled(value: Any) -> Any:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [settled(entry) for entry in value]
    if isinstance(value, dict):
        return {whole(key): settled(entry) for key, entry in value.items()}
    return str(value) if value in (float("inf"), float("-inf")) else value


@settings(deadline=None)
@given(TREES)
def test_what_is_read_back_is_what_was_written(value: Any) -> None:
    text = canonical(value)
    assert parse(text) == settled(value)
    assert canonical(parse(text)) == text
    assert text.isascii()
    assert text.isprintable()  # no line break, no NUL


@settings(deadline=None)
@given(TREES, TREES)
def test_two_values_have_two_texts(one: Any, other: Any) -> None:
    same = repr(settled(one)) == repr(settled(other))
    assert not same or canonical(one) == canonical(other)
    if canonical(one) == canonical(other):
        assert settled(one) == settled(other)


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert canonical(dict(reversed(value.items()))) == canonical(value)


def test_the_form_is_as_documented() -> None:
    value = {
        "b": [1, 1.0, 0.1, -0.0, 1e300, True, None],
        "a": date(2026, 1, 31),
        "c": frozenset({"y", "x"}),
        "é": "\0\ud800 e\u0301",
    }
    assert canonical(value) == (
        '{"a":"2026-01-31","b":[1,1.0,0.1,-0.0,1e+300,true,null],"c":["x","y"],'
        '"\\u00e9":"\\u0000\\ud800 e\\u0301"}'
    )


def test_a_float_that_is_no_number_is_told_as_text() -> None:
    floats = {"a": [float("nan"), float("inf"), -float("inf"), 0.5]}
    assert canonical(floats) == '{"a":["nan","inf","-inf",0.5]}'


def test_what_has_no_form_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        canonical({"a": object()})


def test_a_hash_names_its_algorithm() -> None:
    assert digest(b"") == (
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
