"""What measures and improves a deployment, from labelled data, attacks and the log."""
