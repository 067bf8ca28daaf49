"""The local API: everything the window can do, for scripts, on a loopback port of its own, with a token."""

from app.server.api.server import ApiServer
from app.server.api.services import ApiServices

__all__ = ["ApiServer", "ApiServices"]
