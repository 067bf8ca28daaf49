"""Forwarding: sends each captured request of an endpoint with a forward URL, exactly as received, in order per
endpoint."""

from app.server.forward.forwarder import Forwarder

__all__ = ["Forwarder"]
