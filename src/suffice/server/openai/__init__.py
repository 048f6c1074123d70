"""The OpenAI-compatible API: requests, prompts, completions and streams."""
