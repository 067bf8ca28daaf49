"""Endpoints, their plan and their tunnels' URLs."""
