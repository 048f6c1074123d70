"""Telemetry of the gateway: request statistics, logs, metrics and traces."""
