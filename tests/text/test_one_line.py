"""Untrusted text becomes one line without characters that drive a terminal."""

from __future__ import annotations

import pytest

from suffice.text.one_line import one_line, printable_line, without_controls


def test_a_text_becomes_one_line_and_is_shortened_with_an_ellipsis() -> None:
    assert one_line(" a\n\tb  c ") == "a b c"
    assert one_line("a b c", 5) == "a b c"
    assert one_line("a b c d", 5) == "a b c…"


def test_what_is_not_printable_becomes_a_space() -> None:
    assert printable_line("a\x1b[2Jb\u202ec") == "a [2Jb c"


@pytest.mark.parametrize("char", ["\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\ud800"])
def test_control_characters_are_removed_and_line_breaks_stay(char: str) -> None:
    assert without_controls(f"a{char}\n\tb") == "a\n\tb"
    assert without_controls(f"a{char}b", "?") == "a?b"
