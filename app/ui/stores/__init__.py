"""One's own store and those of teams: which one is in use, and how another is opened."""
