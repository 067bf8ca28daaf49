"""Copies of the database, and its damage."""
