"""The commands of `python -m benchmarks`, one module a command."""
