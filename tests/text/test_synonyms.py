"""Synonyms."""

from __future__ import annotations

from suffice.text.words import Synonyms


def test_a_setting_names_them_in_singular_and_plural() -> None:
    known = Synonyms.read(["MOT, roadworthiness  test", "customer, client"])
    assert known.of("mot") == ("roadworthiness test",)
    assert known.of("Clients") == ("customer",)
    assert known.of("sabbatical") == ()


def test_odd_settings_add_nothing() -> None:
    assert Synonyms.read(["", ",", "alone", "alone, "]) == Synonyms.read()
