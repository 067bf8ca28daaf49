"""Lines of code: folding, zoom, wrapping, marks."""
