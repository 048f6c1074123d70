"""An LLM as judge of claims."""
