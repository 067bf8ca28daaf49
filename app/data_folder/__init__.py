"""The data folder: its lock, and its files."""
