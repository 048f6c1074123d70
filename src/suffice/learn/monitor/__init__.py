"""Monitoring: metrics and alarms, the guarantee of the thresholds, deep checks, knowledge gaps."""
