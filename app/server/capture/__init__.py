"""The capture port: accepts any HTTP request for an endpoint and stores it exactly as it was sent."""

from __future__ import annotations

from app.server.capture.handler import Handler
from app.server.capture.limits import Limits
from app.server.capture.server import CaptureServer

__all__ = ["CaptureServer", "Handler", "Limits"]
