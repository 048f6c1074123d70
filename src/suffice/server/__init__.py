"""The gateway: an OpenAI-compatible server in front of any LLM."""
