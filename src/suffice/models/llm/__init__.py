"""The user's own LLM as the strongest verifier.

prompt   what it is asked, from versioned files
ask      the endpoint, budgets and what they cost
replies  what it replied, read strictly
quotes   whether its quotes stand in the passages
cache    verdicts that need not be asked for again
verifier the tier: the cheaper one first, the LLM where that is not sure
"""
