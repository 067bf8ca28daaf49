"""The page itself: its layout, its commands, and a request in its own window."""
