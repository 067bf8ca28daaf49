"""Searches in SQLite."""
