"""Webhooks: send log events as signed requests, with retries; failed deliveries are kept."""
