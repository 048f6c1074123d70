"""The user's LLM: drafts, verifies, judges, votes and rewrites queries.

prompts   versioned prompt files, and the prompt of a request
replies   strict parsing of replies into the struct of each use
client    the endpoint and key, budgets and costs
rulings   the judgements of the llm tier, and whether their quotes occur in the passages
verifier  the llm tier: asks the LLM where the cheaper tier is uncertain
"""
