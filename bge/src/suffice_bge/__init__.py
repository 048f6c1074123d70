"""The bge-small-verifier of Suffice: weights only, see `suffice.models.catalog`."""
