"""Deleting by age and for space."""
