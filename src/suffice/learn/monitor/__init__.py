"""Monitoring: metrics with their alarms, the guarantee of the thresholds, deep checks, gaps."""
