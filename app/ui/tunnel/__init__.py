"""The tunnel in the window: its page, its commands, and the notices when it died or its URL changed."""
