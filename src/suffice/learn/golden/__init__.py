"""Golden sets: questions with the expected outcome, run before a deployment."""
