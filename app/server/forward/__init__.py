"""Forwarding: each captured request with a forward URL is sent on, exactly as received, in order per endpoint."""

from app.server.forward.forwarder import Forwarder

__all__ = ["Forwarder"]
