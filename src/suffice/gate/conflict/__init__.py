"""Detects conflicts: retrieved passages that answer the question differently."""
