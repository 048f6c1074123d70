"""Models: cards, sessions in and scores out. This room knows nothing of claims or gates."""
