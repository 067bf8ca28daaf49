"""The tabs of a request."""
