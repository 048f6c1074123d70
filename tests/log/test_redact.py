"""Masking: personal data is masked, and other text stays unchanged."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.errors import SettingsError
from suffice.log.masking import Masks
from suffice.settings import RecordSettings

MASKS = Masks.of(RecordSettings())


def masked(text: str, masks: Masks = MASKS) -> str:
    return masks.text(text, Counter())


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("Write to alice.b+c@mail.example.co.uk now", "Write to xxxxx.x+x@xxxx.xxxxxxx.xx.xx now"),
        ("josé@exämple.org", "xxxx@xxxxxxx.xxx"),
        ("call +49 30 1234567 or (030) 123-4567", "call +## ## ####### or (###) ###-####"),
        ("0171 1234567, 030/1234567", "#### #######, ###/#######"),
        ("555-123-4567; 555.123.4567.", "###-###-####; ###.###.####."),
        ("+1 (415) 555-2671", "+# (###) ###-####"),
        ("tel:+4930123456", "tel:+##########"),
        ("card 4111 1111 1111 1111", "card #### #### #### ####"),
        ("5500-0000-0000-0004, 340000000000009", "####-####-####-####, ###############"),
    ],
)
def test_what_is_meant_is_masked_in_shape(text: str, shape: str) -> None:
    assert masked(text) == shape


@pytest.mark.parametrize(
    "text",
    [
        "from 2024-01-31 to 2025-12-31, budget 2023-2024",
        "31/01/2024 and 01-02-2024",
        "1 000 000 EUR, 10.000.000,00 or 1,234,567.89",
        "4111 1111 1111 1112 is no card number",
        "section 3.2.1.4.5.6, 192.168.100.200, 08:30-12:00",
        "0.1234567890123456",
        "@home, a@b, x @ y.com",
        "ISBN 978-3-16-148410-0",
    ],
)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert masked(text) == text


@settings(deadline=None)
@given(st.text())
def test_a_mask_keeps_the_length_and_is_not_masked_again(text: str) -> None:
    once = masked(f"{text} a.b@c.de {text} +49 30 1234567")
    assert len(once) == len(f"{text} a.b@c.de {text} +49 30 1234567")
    assert masked(once) == once


def test_patterns_of_the_settings_are_masked_and_all_is_counted() -> None:
    masks = Masks.of(RecordSettings(mask_patterns=(r"\bEMP-\d+", "^Dear .*,")))
    counts: Counter[str] = Counter()
    assert masks.text("EMP-12 and EMP-7 at a@b.de", counts) == "xxx-## and xxx-# at x@x.xx"
    assert masks.text("Dear Bob, hello", counts) == "xxxx xxx, hello"
    assert counts == {"pattern 1": 2, "pattern 2": 1, "e-mail address": 1}


def test_each_sort_can_be_switched_off() -> None:
    text = "a@b.de +49 30 1234567 4111111111111111"
    off = RecordSettings(mask_emails=False, mask_phones=False, mask_cards=False)
    assert masked(text, Masks.of(off)) == text
    only = Masks.of(RecordSettings(mask_phones=False, mask_cards=False))
    assert masked(text, only) == "x@x.xx +49 30 1234567 4111111111111111"


def test_a_pattern_that_is_none_is_told() -> None:
    with pytest.raises(SettingsError, match=r"record\.mask_patterns"):
        Masks.of(RecordSettings(mask_patterns=("(",)))


def test_names_of_things_are_kept() -> None:
    tree = {"document": "a@b.de.md", "title": "a@b.de", "items": ["a@b.de", 1, None]}
    assert MASKS.tree(tree, Counter()) == {
        "document": "a@b.de.md",
        "title": "x@x.xx",
        "items": ["x@x.xx", 1, None],
    }


@pytest.mark.timing
@pytest.mark.parametrize("part", ["a", "a.b-", "@a.", "+1 ", "1 1", "a@b.de "])
def test_a_long_text_takes_time_in_proportion(part: str) -> None:
    def seconds(length: int) -> float:
        text = part * (length // len(part)) + "@"
        start = time.process_time()
        masked(text)
        return time.process_time() - start

    short = max(min(seconds(20_000) for _ in range(3)), 1e-3)
    assert seconds(200_000) < 40 * short
