"""Start at sign-in, one file per system."""
