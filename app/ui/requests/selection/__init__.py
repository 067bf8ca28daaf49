"""Selected requests, and actions on many."""
