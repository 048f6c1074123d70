"""Models: cards, sessions and scores. Claims, gates and verdicts are unknown in this package."""
