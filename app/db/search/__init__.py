"""Searching the stored requests: what columns can tell is asked of SQLite, the rest is looked at row by row."""
