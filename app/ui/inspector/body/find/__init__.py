"""Searching a body: the bar, and a finder for each view."""
