"""Turns documents into passages. SQL is the source of truth; the search index is derived."""
