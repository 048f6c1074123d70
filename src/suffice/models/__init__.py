"""Models: cards, sessions and scores, independent of claims, gates and verdicts."""
