"""The filter above the request list: a field with completion and error marking, and filters saved by name."""
