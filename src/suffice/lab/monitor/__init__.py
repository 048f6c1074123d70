"""Metrics of the log, their alarms, and whether a guarantee still holds."""
