"""The local API: everything the window can do, for scripts, on a loopback port of its own behind a token."""

from app.server.api.ports import ApiServices
from app.server.api.server import ApiServer

__all__ = ["ApiServer", "ApiServices"]
