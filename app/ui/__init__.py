"""The window. The only room that imports PySide6; imports core only."""
