"""Learning from decisions: calibration, monitoring, golden sets and red teaming."""
