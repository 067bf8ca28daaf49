"""Small widgets used all over the window. Each is handed the theme; what senders wrote is always plain text."""
