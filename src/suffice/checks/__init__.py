"""Checks: code between the draft and the user. Every check judges every claim exactly once."""
