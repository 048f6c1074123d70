"""The policies that decide whether evidence is enough: one module a policy, one protocol."""
