"""A request: its header, its tabs and its body."""
