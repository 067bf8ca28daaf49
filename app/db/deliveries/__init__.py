"""Targets, what is sent to them, and what they respond."""
