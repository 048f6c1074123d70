"""Checks: verification of a draft before release. Every check judges every claim exactly once."""
