"""Calibration: derives thresholds with a guaranteed error rate from labelled answers."""
