"""Published interfaces under their published names, built on the parts of Suffice."""
