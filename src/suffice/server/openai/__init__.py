"""OpenAI's API: requests, prompts, completions and streams."""
