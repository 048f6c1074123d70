"""Text processing without a model: sentences, words, claims and literals, with exact spans."""
