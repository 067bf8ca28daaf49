"""Desktop integration: the tray icon, the unread badge and notifications."""
