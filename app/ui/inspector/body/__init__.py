"""The views of a body."""
