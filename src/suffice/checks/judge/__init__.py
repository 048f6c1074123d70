"""Judges claims with an LLM."""
