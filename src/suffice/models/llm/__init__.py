"""The user's own LLM as the strongest verifier.

prompt   the prompts, from versioned files
ask      the endpoint, budgets and costs
replies  strict parsing of replies
quotes   whether quotes occur in the passages
cache    judgements in memory
verifier the tier: asks the LLM where the cheaper tier is uncertain
"""
