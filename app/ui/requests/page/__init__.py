"""The page of an endpoint, or of all requests: its parts and its commands."""
