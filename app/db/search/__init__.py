"""Searches the stored requests: SQLite decides what columns can decide, the rest is checked row by row."""
