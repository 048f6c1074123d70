"""Attacks generated from the documents, each with a harmless twin."""
