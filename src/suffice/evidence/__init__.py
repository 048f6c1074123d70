"""Evidence: documents in, passages out. SQL is the source of truth; the search index is derived."""
