"""Signed checkpoints of the log, and where copies of them are kept."""
