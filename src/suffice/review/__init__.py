"""The review queue: decisions that wait for a person."""
