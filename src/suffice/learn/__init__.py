"""Thresholds with a guarantee, monitoring and red teaming."""
