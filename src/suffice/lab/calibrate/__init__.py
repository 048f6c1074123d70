"""Thresholds with a guarantee, chosen from labelled answers."""
