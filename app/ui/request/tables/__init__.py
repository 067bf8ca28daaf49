"""Tables of names and values, and what shows a long value whole."""
