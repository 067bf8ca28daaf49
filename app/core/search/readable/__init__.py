"""Decodes escapes and encodings in requests for searching. Pure functions."""
