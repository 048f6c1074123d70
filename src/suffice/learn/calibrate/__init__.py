"""Thresholds with a guarantee on the error rate of served answers, from labelled answers."""
