"""Published interfaces under their published names, implemented with Suffice."""
