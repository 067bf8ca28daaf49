"""Hookline in the desktop: its tray icon, the count of unread requests, and notifications."""
