"""Searches in PostgreSQL."""
