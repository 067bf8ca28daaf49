"""The commands, one module for each noun: its arguments and what it does."""
