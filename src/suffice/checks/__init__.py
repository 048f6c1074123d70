"""Checks that verify a draft before release. Every check judges every claim exactly once."""
