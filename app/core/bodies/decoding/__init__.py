"""Removes content codings and detects charsets."""
