"""Deleting, and undoing it."""
