"""Golden sets: questions with expected outcomes, run before a deployment."""
