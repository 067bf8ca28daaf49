"""Tables of names and values, and the view of a long value."""
