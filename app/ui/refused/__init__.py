"""The page of requests that were not captured, and why."""
