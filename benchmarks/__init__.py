"""Benchmarks of speed and load, not part of the wheel. Run: python -m benchmarks --help."""
