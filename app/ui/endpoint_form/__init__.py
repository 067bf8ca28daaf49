"""The dialog that creates and edits endpoints."""
