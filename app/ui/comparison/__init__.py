"""The window that compares what two targets of an endpoint respond."""
