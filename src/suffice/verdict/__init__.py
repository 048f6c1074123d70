"""The verdict: what is released, and with which wording."""
