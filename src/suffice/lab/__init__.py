"""The lab: what measures and improves a deployment, from labelled data, from attacks and from the log."""
