"""The commands that work on the store, one module for each noun: its arguments and what it does."""
