"""Rules can be switched off one by one, and come back."""

from __future__ import annotations

import pytest

from suffice import switch
from suffice.switch import rule, rules_off


@pytest.fixture(autouse=True)
def _rules_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "RULES", set(switch.RULES))


def test_a_rule_that_is_off_lets_everything_pass() -> None:
    @rule("shout", lambda said, mark="!": said)
    def shout(said: str, mark: str = "!") -> str:
        """Says it louder."""
        return said.upper() + mark

    assert "shout" in switch.RULES
    assert shout.__doc__ == "Says it louder."
    assert shout("ho", mark="?") == "HO?"
    with rules_off(["shout"]):
        assert shout("ho", mark="?") == "ho"
        with rules_off(["other"]):
            assert shout("ho") == "ho"
    assert shout("ho") == "HO!"


def test_a_rule_comes_back_after_an_error() -> None:
    @rule("deny", lambda: True)
    def deny() -> bool:
        return False

    def fails() -> None:
        with rules_off(["deny"]):
            assert deny()
            raise ValueError

    with pytest.raises(ValueError):
        fails()
    assert not deny()
