"""Drafting: an LLM or the extractive drafter writes an untrusted answer from the evidence."""
