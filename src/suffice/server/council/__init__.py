"""`POST /v1/council/vote`: several judges vote on whether the evidence supports an answer."""
