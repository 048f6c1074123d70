"""Serving: the gateway in front of any LLM, in the words of OpenAI's API."""
