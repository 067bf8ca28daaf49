"""Runs a tunnel program, watches it, and starts it again."""
