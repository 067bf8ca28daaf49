"""The window. The only package that imports PySide6; it imports core only."""
