"""What a connection talks to: the server it belongs to, and what answers its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from app.server.capture.head import MalformedError
from app.server.capture.incoming import Incoming
from app.server.capture.limits import Limits

if TYPE_CHECKING:
    from app.server.capture.connection import Connection
    from app.server.capture.reader import UnknownMethodError


class ConnectionOwner(Protocol):
    """The server that a connection belongs to."""

    limits: Limits

    def register(self, connection: Connection) -> bool:
        """A sender connected; False when there are too many, and the connection has been turned away."""
        ...

    def head_grew(self, connection: Connection, size: int) -> None:
        """So many bytes came of an unfinished head; a negative number when its request is answered."""
        ...

    def unregister(self, connection: Connection) -> None:
        """The connection is closed."""
        ...


class RequestHandler(Protocol):
    """What answers the requests."""

    async def handle(self, connection: Connection, request: Incoming) -> None:
        """Answer `request`."""
        ...

    def malformed(self, connection: Connection, error: MalformedError | UnknownMethodError, came: bytes) -> None:
        """Answer a head that cannot be taken; `came` is all that came of the request."""
        ...

    def slow(self, connection: Connection, head: bytes) -> None:
        """Answer a head that took too long."""
        ...
