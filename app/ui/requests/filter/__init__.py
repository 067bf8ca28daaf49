"""The filter above the request list: a field that completes, marks what is wrong, and remembers filters by name."""
