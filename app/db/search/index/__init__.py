"""The search index, which leaves out requests that cannot match: a file of its own that can be rebuilt at any time."""
