"""Tunnels: programs that make the capture port reachable from the internet."""
