"""The selected requests, and the commands on them."""
