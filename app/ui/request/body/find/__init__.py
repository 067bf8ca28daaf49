"""Find in a body: one finder per view."""
