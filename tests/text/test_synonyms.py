"""Words that stand for one another."""

from __future__ import annotations

from suffice.text.synonyms import Synonyms


def test_everyday_words_in_singular_and_plural() -> None:
    known = Synonyms.read()
    assert "customer" in known.of("client")
    assert "customer" in known.of("Clients")
    assert "country" in known.of("nations")
    assert known.of("sabbatical") == ()


def test_a_setting_adds_its_own() -> None:
    known = Synonyms.read(["MOT, roadworthiness  test", "pto, holiday"])
    assert known.of("mot") == ("roadworthiness test",)
    assert set(known.of("holiday")) >= {"pto", "vacation"}


def test_odd_settings_add_nothing() -> None:
    assert Synonyms.read(["", ",", "alone", "alone, "]) == Synonyms.read()
