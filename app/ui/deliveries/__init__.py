"""Deliveries in words and colours, and the page that lists those of all endpoints."""
