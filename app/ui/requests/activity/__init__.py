"""The chart of requests over time above the list: what it counts, how it is drawn, and how a time is chosen in it."""
