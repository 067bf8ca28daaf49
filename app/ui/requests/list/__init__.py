"""The list of requests: its rows, its selection, and what keeps them up to date."""
