"""What can be done with endpoints, whichever button, menu or key asks for it."""
