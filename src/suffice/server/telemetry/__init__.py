"""What a gateway tells of its requests: statistics, logs, metrics, traces."""
