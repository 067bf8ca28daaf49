"""A shop that announces paid orders."""
