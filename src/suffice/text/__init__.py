"""Reading text without a model: sentences and words, with exact spans."""
