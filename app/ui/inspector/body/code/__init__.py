"""Lines of code: folding, wrapping, text size, and highlights."""
