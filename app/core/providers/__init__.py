"""Who sent a request, which event it is and its delivery id: rules of `resources/providers/`."""
