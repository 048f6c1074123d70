"""Benchmarks: a command produces every published figure from named data."""
