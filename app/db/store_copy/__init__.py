"""Copies one store into another, of either engine."""
