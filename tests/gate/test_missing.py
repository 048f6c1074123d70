"""The words of a question that no passage holds."""

from __future__ import annotations

from suffice.gate.missing import missing_words
from suffice.types import Evidence, Passage, Retrieved


def test_forms_of_a_word_count_as_the_word() -> None:
    passage = Passage(id="1", text="The manager orders laptops.", document="a", title="Badges")
    evidence = Evidence("Who may order a laptop, a badge and a llama?", (Retrieved(passage, 0.5),))
    assert missing_words(evidence) == ("llama",)


def test_at_most_three() -> None:
    assert missing_words(Evidence("alpha beta gamma delta")) == ("alpha", "beta", "gamma")
