"""Drafting: what a model, or the extractive drafter, writes from the evidence. Untrusted."""
