"""Requests: stored, marked, identified."""
