"""Suffice and what users would pick instead, on the same rows in the same run."""
