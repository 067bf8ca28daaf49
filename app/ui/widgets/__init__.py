"""Small widgets used throughout the window. Each is given the theme; what senders wrote is always plain text."""
