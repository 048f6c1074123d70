"""Records of decisions: written to the tamper-evident log, read back, replayed and sampled."""
