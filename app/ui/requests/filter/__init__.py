"""The filter above the list: a field with completions and errors, chips, and filters saved by name."""
