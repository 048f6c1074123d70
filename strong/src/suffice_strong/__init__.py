"""The strong tier of Suffice: weights only, see `suffice.models.catalog`."""
