"""How time and memory grow with answers, evidence, index, log and workers."""
