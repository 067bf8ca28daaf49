"""Hookline, the webhook catcher."""

__version__ = "0.1.0"
