"""Deleting with ten seconds to undo it: what waits to be deleted is hidden from the window, then removed."""
