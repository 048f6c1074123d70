"""The verdict: what leaves, and in which words."""
