"""What the product learns from its own decisions: certified thresholds, monitoring, red team."""
