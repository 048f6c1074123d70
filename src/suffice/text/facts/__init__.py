"""Atomic facts of a sentence: `facts(sentence)`. Rules over words, no model."""

from suffice.text.facts.split import Fact, facts

__all__ = ["Fact", "facts"]
