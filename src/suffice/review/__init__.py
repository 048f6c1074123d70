"""Human review: the queue, decisions and feedback, knowledge gaps, and the error estimate."""
