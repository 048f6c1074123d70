"""Models: cards, sessions and scores. This package is independent of claims, gates and verdicts."""
