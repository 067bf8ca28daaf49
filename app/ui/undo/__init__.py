"""Deletion with ten seconds to undo it: pending items are hidden from the window, then deleted."""
