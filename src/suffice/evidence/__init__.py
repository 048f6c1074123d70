"""Evidence: documents in, passages out. SQL is the truth, the search index is derived from it."""
