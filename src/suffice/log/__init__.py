"""The tamper-evident log: entries in a hash chain, sealed by signed checkpoints."""
