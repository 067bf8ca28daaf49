"""Identifies the provider of a request, its event type and delivery ID by the rules of `resources/providers/`."""
