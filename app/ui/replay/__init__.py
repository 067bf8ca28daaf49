"""Replaying requests in the window: the editor, the form for many, and the progress."""
