"""Measuring: every figure is made by a command, from data anyone can name."""
