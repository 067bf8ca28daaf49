"""The list of requests: its rows, and what keeps them up to date."""
