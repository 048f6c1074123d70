"""Webhooks: events of the log, signed, retried, and kept if they cannot be delivered."""
