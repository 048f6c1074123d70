"""`POST /v1/council/vote`: models and rules vote on whether evidence is enough."""
