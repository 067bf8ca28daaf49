"""Search of the stored requests: SQLite evaluates conditions on columns, the rest is checked row by row."""
