"""Access control: API keys, quotas, and visibility of records."""
