"""Conflict detection: passages of one evidence that answer the question differently."""
