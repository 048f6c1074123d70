"""The gate: is this evidence enough? One module a policy, one protocol."""
