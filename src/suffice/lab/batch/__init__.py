"""Checks and gate decisions over files of many rows, in one process or on a Ray cluster."""
