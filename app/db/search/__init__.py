"""Search of the stored requests: the database evaluates conditions on columns, the rest is checked row by row."""
