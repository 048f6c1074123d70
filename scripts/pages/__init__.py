"""The generated parts of the documentation, by subject."""
