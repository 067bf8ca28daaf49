"""What the tests of the capture server share: a directory and a store in memory, and raw HTTP over sockets."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from app.core.errors import EndpointChangedError, StorageLimitError, StorageUnavailableError
from app.core.events import Event, Refused
from app.core.model import Capture, Endpoint, EndpointDraft
from app.core.providers import Identify, no_provider
from app.core.target import Target
from app.db.store import Store
from app.server.capture import CaptureServer, Handler, Limits
from app.server.capture.limits import EvictionStage
from app.server.listening import KeptDescriptors
from app.server.refused import RefusedLog
from tests import factories
from tests.support import current_settings, until
from tests.tunnels import listening_at

OWN_ID = "own-instance"


class Directory:
    """Endpoints by slug. `elsewhere` are changes by other nodes, which are not known yet."""

    def __init__(self) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        self.elsewhere: dict[str, Endpoint | None] = {}

    def capturing(self, slug: str) -> Endpoint | None:
        return self.endpoints.get(slug)

    async def look_again(self, slug: str) -> bool:
        if slug not in self.elsewhere:
            return False
        changed = self.elsewhere.pop(slug)
        if changed is None:
            del self.endpoints[slug]
        else:
            self.endpoints[slug] = changed
        return True

    def put(self, slug: str = "orders", **fields: Any) -> Endpoint:
        """Create or replace the endpoint `slug`."""
        draft: EndpointDraft = factories.draft(slug=slug, **fields)
        settable = {name: getattr(draft, name) for name in draft.__struct_fields__ if not name.startswith("forward")}
        targets = () if draft.forward_url is None else (factories.target(draft.forward_url),)
        endpoint = Endpoint(id=len(self.endpoints) + 1, created_at=1, targets=targets, **settable)
        self.endpoints[slug] = endpoint
        return endpoint


class MemorySink:
    """Stores captures in memory. `fail_with` makes storing fail; `hold` makes it wait until it is set."""

    def __init__(self) -> None:
        self._numbers, self._keys = count(1), count(1)
        self.captures: list[Capture] = []
        self.bodies: dict[int, bytes] = {}
        self.targets: dict[int, tuple[str, ...]] = {}
        """The URLs of the targets that a capture was queued for."""
        self.parts: dict[int, dict[int, bytes]] = {}
        """Of bodies that arrive, by key: what came by where it begins."""
        self.part_sizes: list[int] = []
        self.dropped: list[int] = []
        self.response_ms: dict[int, float] = {}
        self.fail_with: Exception | None = None
        self.fail_after_parts: int | None = None
        self.hold: asyncio.Event | None = None
        self.writing = 0
        self.old_versions: set[int | None] = set()
        """Of endpoints that another node has changed."""
        self.over_limit: set[bytes] = set()
        """The beginnings of bodies for which there is no room."""

    async def add(
        self,
        capture: Capture,
        tail: bytes,
        body_key: int | None = None,
        targets: Sequence[Target] = (),
        version: int | None = None,
    ) -> int:
        if version in self.old_versions:
            raise EndpointChangedError
        await self._write()
        body = b""
        for at, part in sorted(self.parts.pop(body_key).items()) if body_key is not None else ():
            assert at == len(body)
            body += part
        seq = next(self._numbers)
        self.captures.append(replace(capture, seq=seq))
        self.bodies[seq] = body + tail
        self.targets[seq] = tuple(target.url for target in targets)
        return seq

    def check_room(self, endpoint_id: int, size: int) -> None:
        if isinstance(self.fail_with, StorageLimitError):
            raise self.fail_with

    async def add_part(self, body_key: int | None, offset: int, data: bytes, *, endpoint_id: int | None = None) -> int:
        key = next(self._keys) if body_key is None else body_key
        parts = self.parts.get(key, {})
        if self.fail_after_parts is not None and len(parts) >= self.fail_after_parts:
            raise StorageUnavailableError("The disk is full.")
        await self._write()
        if any(data.startswith(beginning) for beginning in self.over_limit):
            raise StorageLimitError("The endpoint may store 1 MiB, and there is no room for the request.", 60)
        self.parts[key] = {**parts, offset: data}
        self.part_sizes.append(len(data))
        return key

    async def drop_parts(self, body_key: int) -> None:
        self.dropped.append(body_key)
        del self.parts[body_key]

    def responded(self, seq: int, ms: float) -> None:
        self.response_ms[seq] = ms

    async def _write(self) -> None:
        if self.hold is not None:
            self.writing += 1
            await self.hold.wait()
            self.writing -= 1
        if self.fail_with is not None:
            raise self.fail_with

    @property
    def last(self) -> Capture:
        return self.captures[-1]

    @property
    def last_body(self) -> bytes:
        return self.bodies[self.last.seq]


class Response:
    """One answer, as it came."""

    def __init__(self, raw_head: bytes, body: bytes) -> None:
        lines = raw_head.decode("latin-1").split("\r\n")
        self.version, status, self.reason = lines[0].split(" ", 2)
        self.status = int(status)
        self.headers = [(name, value) for name, _, value in (line.partition(": ") for line in lines[1:])]
        self.body = body

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def value(self, name: str) -> str | None:
        values = self.values(name)
        assert len(values) < 2, self.headers
        return values[0] if values else None

    def json(self) -> Any:
        return json.loads(self.body)


class Sender:
    """A raw connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def response(self, *, bodiless: bool = False) -> Response:
        """The next answer; its body is left out for HEAD."""
        async with asyncio.timeout(20):
            head = await self.reader.readuntil(b"\r\n\r\n")
            answer = Response(head[:-4], b"")
            length = int(answer.value("Content-Length") or 0)
            if not bodiless and length:
                answer.body = await self.reader.readexactly(length)
            return answer

    async def rest(self) -> bytes:
        """Everything until the server closes; a reset counts as closing."""
        async with asyncio.timeout(20):
            data = b""
            with suppress(ConnectionError):
                while chunk := await self.reader.read(65_536):
                    data += chunk
            return data

    def half_close(self) -> None:
        self.writer.write_eof()

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()

    def reset(self) -> None:
        """Close so that the other side gets a reset instead of an end."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


def in_memory(directory: Directory, sink: MemorySink) -> Store:
    """A store of these."""
    parts = SimpleNamespace(endpoints=directory, captures=sink, account=SimpleNamespace(instance_id=OWN_ID))
    return cast(Store, parts)


class Rig:
    """Server, directory and store, and senders to it."""

    def __init__(self) -> None:
        self.directory = Directory()
        self.sink = MemorySink()
        self.events: list[Event] = []
        self.refused = RefusedLog(self.events.append)
        self.settings = current_settings(body_limit=100 * 1024 * 1024)
        self.directory.put("orders")
        self.senders: list[Sender] = []
        self.server: CaptureServer

    async def start(
        self,
        limits: Limits | None = None,
        identify: Identify = no_provider,
        descriptors: KeptDescriptors | None = None,
    ) -> None:
        self.server = CaptureServer(
            Handler(
                in_memory(self.directory, self.sink),
                self.refused,
                self.settings,
                listening_at(None),
                limits=limits or Limits(),
                identify=identify,
            ),
            descriptors,
        )
        await self.server.start("127.0.0.1", 0)

    async def close(self) -> None:
        await self.server.stop()
        for sender in self.senders:
            await sender.close()

    async def restart(self, **limits: Any) -> None:
        await self.server.stop()
        await self.start(Limits(**limits))

    async def connect(self, address: str | None = None) -> Sender:
        """A connection, from this address of the machine's."""
        local = None if address is None else (address, 0)
        sender = Sender(*await asyncio.open_connection(*self.server.address, limit=8 * 1024 * 1024, local_addr=local))
        self.senders.append(sender)
        return sender

    async def bodies_waited_for(self, number: int = 1) -> None:
        """Wait until all that came of so many unfinished bodies is read."""

        def waits() -> list[EvictionStage]:
            return [wait[0] for connection in self.server.connections if (wait := connection.waiting_for())]

        await until(lambda: waits().count(EvictionStage.BODY) == number)

    async def ask(self, raw: bytes, *, bodiless: bool = False) -> Response:
        """Send `raw` on a connection of its own and read one answer."""
        sender = await self.connect()
        try:
            await sender.send(raw)
            return await sender.response(bodiless=bodiless)
        finally:
            await sender.close()

    async def post(self, body: bytes = b"{}", path: str = "/catch/orders", headers: str = "") -> Response:
        return await self.ask(request("POST", path, body, headers))

    def refusals(self) -> list[tuple[int, str, str]]:
        """Status, method and target of all that were refused, oldest first; each was also published."""
        kept = self.refused.newest()[::-1]
        assert [event.refusal for event in self.events if isinstance(event, Refused)] == kept
        return [(refusal.status, refusal.method, refusal.target) for refusal in kept]


class Clock:
    """The time of a loop, which a test can move on. Time limits and delays that have passed by then take effect."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._ahead, real = 0.0, loop.time
        loop.time = lambda: real() + self._ahead  # type: ignore[method-assign]

    async def move_on(self, seconds: float) -> None:
        """Let so many seconds pass, and the server look after its time limits."""
        self._ahead += seconds
        for _ in range(3):  # the timer, the task that waits for it, and the tasks that this one wakes
            await asyncio.sleep(0)


class OwnLoop:
    """A server and the loop it runs on, for hypothesis, whose tests are not coroutines."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.rig = Rig()
        self.runner.run(self.rig.start(Limits(head_s=5, body_idle_s=5, linger_s=0.2, sweep_s=0.02, keepalive_s=5)))
        self.runner.get_loop().set_exception_handler(self._note)
        self.failures: list[str] = []

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        self.failures.append(str(context))

    def close(self) -> None:
        self.runner.run(self.rig.close())
        self.runner.close()


def request(method: str = "POST", path: str = "/catch/orders", body: bytes = b"", headers: str = "") -> bytes:
    """A request with Host and Content-Length; `headers` are whole lines."""
    return (
        f"{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body
    )
