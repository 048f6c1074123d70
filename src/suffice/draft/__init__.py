"""Drafting: an LLM or the extractive drafter writes from the evidence. Drafts are untrusted."""
