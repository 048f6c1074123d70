"""The policies that decide whether evidence is enough. Each module implements one policy."""
