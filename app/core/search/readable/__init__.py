"""The text of a request as people read it: escapes and encodings undone. Pure functions, one notation a file."""
