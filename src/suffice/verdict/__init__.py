"""The verdict: what is released, and how it is worded."""
