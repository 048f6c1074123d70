"""Benches: every published figure is produced by a command from named data."""
