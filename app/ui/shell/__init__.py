"""The window's frame: sidebar, what can be done with endpoints from anywhere, and what is remembered."""
