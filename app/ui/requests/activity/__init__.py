"""The chart of requests over time above the list: its counts, its painting, and the selection of a time range."""
