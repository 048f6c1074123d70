"""Which of an upstream's other fields pass through."""

from __future__ import annotations

from typing import Any

import pytest

from suffice.server.openai.passthrough import beside, logprobs_of


@pytest.mark.parametrize(
    "value",
    ["calm", "eu-west-1", "Google AI Studio", "https://a.b/c?d=e", "2026-01-01 10:00", 7, None],
)
def test_names_numbers_and_addresses_go_through(value: Any) -> None:
    assert beside({"x": value, "y": [value], "z": {"w": value}}) == {
        "x": value,
        "y": [value],
        "z": {"w": value},
    }


@pytest.mark.parametrize(
    "value",
    ["It is twelve days long.", "12 days", "twelve days", "It_is-12_days_long", "假期为二十周"],
)
def test_text_does_not(value: str) -> None:
    assert beside({"x": value, "y": [value], "z": {"w": value}, "n": 1}) == {
        "y": [],
        "z": {},
        "n": 1,
    }


def test_thinking_does_not_by_any_name_but_its_counts_do() -> None:
    told = {
        "reasoning_content": "yes",
        "thinking_blocks": [],
        "Thoughts": {},
        "audio": {"transcript": "yes"},
        "suffice": {"verdict": "SERVE"},
        "details": {"reasoning_tokens": 3, "thought_signature": "Ab9=", "chain_of_thought": "no"},
    }
    assert beside(told) == {"details": {"reasoning_tokens": 3, "thought_signature": "Ab9="}}


def test_text_in_names_and_in_words_does_not() -> None:
    cited = ["https://a.b/1", "https://a.b/2", "https://a.b/3", "https://a.b/4"]
    told = {
        "x": {"It is twelve days long": 1},
        "tokens": ["It", "is", "12", "days", 7],
        "service_tier": {"w": "12 days"},
        "annotations": [{"url": "https://a.b/1"}],
        **dict.fromkeys(("id", "object", "created", "model"), "12 days"),
        "citations": cited,
    }
    assert beside(told) == {"x": {}, "tokens": [7], "citations": cited}


def test_tier_and_fingerprint_carry_no_text() -> None:
    assert beside({"service_tier": "scale"}) == {"service_tier": "scale"}
    assert beside({"service_tier": "12days"}) == {}
    one, same, other = (beside({"system_fingerprint": f})["system_fingerprint"] for f in "aab")
    assert one == same != other
    assert len(one) == 13
    assert "days" not in str(beside({"system_fingerprint": "12 days"}))


def test_what_is_nested_too_deep_is_left_out() -> None:
    deep: Any = "x"
    for _ in range(900):
        deep = {"a": deep}
    assert "x" not in str(beside({"b": deep}))


def test_probabilities_of_letters_in_pieces() -> None:
    tokens = [{"token": "\\xc3", "bytes": [195]}, {"token": "\\xa9", "bytes": [169]}]
    assert logprobs_of({"content": tokens}, "é") is not None
    assert logprobs_of({"content": tokens}, "e") is None
    assert logprobs_of({"content": [], "refusal": tokens}, "") is None
    assert logprobs_of({"content": [1]}, "1") is None
    assert logprobs_of({"content": []}, "anything") is not None
    other = {"token": "4", "top_logprobs": [{"token": "12 days"}], "remark": "12 days"}
    assert logprobs_of({"content": [other]}, "4") == {
        "content": [{"token": "4", "top_logprobs": []}]
    }
    assert logprobs_of({"content": [], "text": "It is 12 days"}, "x") == {"content": []}
