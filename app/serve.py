"""`hookline serve`: the program on plain asyncio, without Qt; events are printed to standard output."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from app.application import Application
from app.cli.options import ServeOptions
from app.cli.output import Output, local_seconds, visible
from app.core.curl import ready_curl
from app.core.errors import (
    DamagedDatabaseError,
    FolderInUseError,
    HooklineError,
    MissingDatabaseError,
    NotAllowedError,
)
from app.core.events import Captured, DeliveryChanged, StorageLimitChanged, TunnelChanged
from app.core.model import Endpoint, EndpointDraft, Summary
from app.core.raw_request import below_slug
from app.core.team import NOT_ALLOWED
from app.core.text import limit_text, size_text
from app.core.tunnel import TunnelState, url_mark
from app.data_folder.database_files import set_aside
from app.data_folder.private_files import has_runtime
from app.event_loop import set_on_signals
from app.server.addresses import LOOPBACK
from app.server.listening import raise_file_limit
from app.system import installation
from app.system.log_file import json_line, write_log
from hookline.decoding import convert
from hookline.records import DeliverySummary
from hookline.running import ApiAddress

GRANTED = b"\n"
"""Sent on a connection once it is a lease: one that nobody will accept any more may still seem to be open."""


class Leases:
    """Sets `stop` when the last lease ends: a lease is a connection to a port, and until the first one standard input.

    The system closes both when a process ends, however that ends, so nobody has to say that it has gone.
    """

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop, self._loop = stop, asyncio.get_running_loop()
        self._count = 0
        self._stdin = False
        """Whether it is a lease."""
        self._server: asyncio.Server | None = None
        self._last: asyncio.StreamWriter | None = None

    def take_stdin(self) -> None:
        """Standard input is a lease while it is open, until there is another. What is written there is ignored."""
        self._stdin = True
        # no loop watches a console or a pipe on every system
        threading.Thread(target=self._read_stdin, name="standard input", daemon=True).start()

    async def listen(self) -> int:
        """Grant leases on a free port, which is returned."""
        self._server = await asyncio.start_server(self._hold, LOOPBACK, 0)
        return int(self._server.sockets[0].getsockname()[1])

    def _read_stdin(self) -> None:
        # os.read: at exit, a thread inside sys.stdin would hold a lock that Python then waits for
        with contextlib.suppress(OSError):
            while os.read(0, 65_536):
                pass
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            self._loop.call_soon_threadsafe(self._end_stdin)

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._stop.is_set():
            writer.close()
            return
        self._count += 1
        self._stdin = False
        writer.write(GRANTED)
        with contextlib.suppress(ConnectionError):
            while await reader.read(65_536):
                pass
        self._last = writer  # closed by the system, when this process has ended: its user may wait for that
        self._count -= 1
        if self._count:
            writer.close()
        else:
            self._end()

    def _end_stdin(self) -> None:
        if self._stdin:
            self._end()

    def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        self._stop.set()


PATIENCE_S, PAUSE_S = 2.0, 0.05


def run_headless(options: ServeOptions) -> int:
    """Serve until SIGINT or SIGTERM; HooklineError when that is impossible."""
    raise_file_limit()  # before there are threads
    return asyncio.run(_serve(options))


@contextlib.asynccontextmanager
async def opened(options: ServeOptions) -> AsyncIterator[Application]:
    """The application with its store and its log file; it is closed at the end."""
    application = Application(options.data_dir, options.overrides(), fsync=options.fsync)
    logging_to_file = contextlib.ExitStack()
    if options.tunnel is not None:
        application.current_settings.override(tunnel_program=options.tunnel, tunnel_autostart=True)
    try:
        await _open(application, options)
        application.prepare()
        logging_to_file.enter_context(write_log(application.folder, as_json=options.log_json))
        yield application
    finally:
        await application.close()
        logging_to_file.close()


async def _serve(options: ServeOptions) -> int:
    stop = asyncio.Event()
    set_on_signals(stop)
    leases = Leases(stop)
    if options.exit_on_stdin_close or options.exit_when_unused:
        leases.take_stdin()
    report = _report_as_json if options.log_json else _report
    program_file = installation.ProgramFile(installation.executable())
    async with opened(options) as application:
        endpoints = [await _ensure_endpoint(application, name) for name in options.endpoints]
        _report_tunnel(application, endpoints)
        await application.listen()
        if options.forward_url is not None:
            endpoints[:] = await _forward(application, endpoints, options.forward_url, report)
        address = application.addresses.listening_url
        _say(f"listening on {address}" if address else f"not capturing: {NOT_ALLOWED[application.store.role]}")
        if options.exit_when_unused:
            _say(f"lease port {await leases.listen()}")
        _print_endpoints(application, endpoints)
        if options.tail:  # at once: whoever reads the URL may send a request
            Tail(application)
        for endpoint, use in application.store.limits.reached():
            report(_limit_sentence(StorageLimitChanged(endpoint=endpoint, use=use)))
        application.bus.subscribe(StorageLimitChanged, lambda event: report(_limit_sentence(event)))
        with contextlib.suppress(NotAllowedError):  # a node that only captures has no targets to look after
            for trouble in await application.store.deliveries.target_troubles():
                report(f"{trouble.text} {trouble.advice}")
        watching = asyncio.create_task(_watch(program_file, report), name="program file")
        _tune_garbage_collection()
        await stop.wait()
        with contextlib.suppress(OSError):
            Output().leave_line()
        watching.cancel()
    return 0


async def _forward(application: Application, endpoints: Sequence[Endpoint], url: str, report: Report) -> list[Endpoint]:
    """Let the endpoints forward to `url`, or without any, one; returns them as they are now."""
    from app.cli.client import ApiClient  # start-up time: without --forward-url nothing needs it
    from app.cli.forwarding import forwarding_endpoint  # as above

    found = []
    with ApiClient(ApiAddress(url=application.addresses.api_url, token=application.token)) as api:
        slugs: list[str | None] = [endpoint.slug for endpoint in endpoints]
        for slug in slugs or [None]:
            forwarding = await asyncio.to_thread(forwarding_endpoint, api, url, slug)
            for sentence in forwarding.changes:
                report(sentence)
            found.append(application.store.endpoints.by_slug(forwarding.endpoint.slug))
    return [endpoint for endpoint in found if endpoint is not None]


async def _watch(program_file: installation.ProgramFile, report: Report) -> None:
    """Report that the program was updated or removed, which affects only its next start."""
    if installation.is_bundle():
        async for change in program_file.changes():
            report(f"{change.text} {change.advice}")


def _tune_garbage_collection() -> None:
    """Collect cyclic garbage far less often than usual, and not among objects from the start.

    A request creates some twenty records and no cycle, so the usual threshold of 700 means a collection every 35
    requests, which costs a tenth of the captures a second for nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


async def _open(application: Application, options: ServeOptions) -> None:
    try:
        await _open_after_commands(application, options)
    except MissingDatabaseError as error:
        raise HooklineError(f"{error} For a new one, add --new-database.") from error
    except DamagedDatabaseError:
        if not options.set_aside_damaged:
            raise
        kept = set_aside(application.folder)
        _say(f"damaged database kept as {kept}")
        await application.open(new_database=True)


async def _open_after_commands(application: Application, options: ServeOptions) -> None:
    """A command locks the folder only briefly; a program that keeps it soon writes where it is."""
    wait_until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await application.open(new_database=options.new_database)
        except FolderInUseError:
            if has_runtime(application.folder) or time.monotonic() > wait_until:
                raise
        await asyncio.sleep(PAUSE_S)


async def _ensure_endpoint(application: Application, name: str) -> Endpoint:
    """The first endpoint called `name`, created when there is none."""
    for endpoint in application.store.endpoints.all():
        if endpoint.name == name:
            return endpoint
    return await application.store.endpoints.create(EndpointDraft(name=name))


def _print_endpoints(application: Application, endpoints: Sequence[Endpoint]) -> None:
    for endpoint in endpoints:
        url = application.addresses.capture_url(endpoint)
        mark = url_mark(application.tunnels.url_state)
        state = "" if endpoint.active else "  (switched off: senders get 503)"
        _say(f"{endpoint.name}: {url}{f'  ({mark})' if mark else ''}{state}")
        _say(f"  {ready_curl(url)}")
        for target in endpoint.targets:
            _say(f"  forwarded to {target.url}")


def _report_tunnel(application: Application, endpoints: Sequence[Endpoint]) -> None:
    """Print each new public URL of the tunnel with the endpoints' URLs once it works. What goes wrong is logged."""
    shown: str | None = None

    def show(event: TunnelChanged) -> None:
        nonlocal shown
        tunnel = event.tunnel
        if tunnel.state is TunnelState.UP and tunnel.url != shown:
            shown = tunnel.url
            _say(f"tunnel {tunnel.url}")
            _print_endpoints(application, endpoints)

    application.bus.subscribe(TunnelChanged, show)


def _limit_sentence(event: StorageLimitChanged) -> str:
    text, advice = limit_text(event.endpoint, event.use)
    return f"{text} {advice}".rstrip()


Report = Callable[[str], None]
"""Prints a sentence on standard error. It may name URLs, so it is not for the log file."""


def _report(text: str) -> None:
    with contextlib.suppress(OSError):
        print(f"hookline: {text}", file=sys.stderr, flush=True)


def _report_as_json(text: str) -> None:
    record = logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, None, None)
    with contextlib.suppress(OSError):
        print(json_line(record), file=sys.stderr, flush=True)


class Tail:
    """Prints a line for each captured request, and for each attempt of a delivery."""

    def __init__(self, application: Application) -> None:
        self._endpoints, self._out = application.store.endpoints, Output()
        application.bus.subscribe(Captured, self._show)
        application.bus.subscribe(DeliveryChanged, self._show_delivery)

    def _show(self, event: Captured) -> None:
        for summary in event.summaries:
            endpoint = self._endpoints.by_id(summary.endpoint_id)
            _say(format_tail(summary, endpoint.slug if endpoint else "?"))

    def _show_delivery(self, event: DeliveryChanged) -> None:
        from app.cli.commands.tail import delivery_line  # start-up time: without --tail nothing needs it
        from app.server.api.serializers import delivery_summary_out  # as above

        endpoint = self._endpoints.by_id(event.delivery.endpoint_id)
        summary = msgspec.to_builtins(delivery_summary_out(event.delivery, endpoint))
        _say(delivery_line(self._out, convert(summary, DeliverySummary)))


def _say(line: str) -> None:
    # The output may be closed, or its disk full: capturing continues.
    with contextlib.suppress(OSError):
        print(line, flush=True)


def format_tail(summary: Summary, slug: str) -> str:
    """Local time, slug, method, provider, event or else gist, target below the slug, size, content type; on one
    line."""
    path = below_slug(summary.target)
    title = summary.event or summary.gist
    words = [
        local_seconds(summary.received_at)[11:],
        slug,
        f"{summary.method:<7}",
        summary.provider or "",
        "" if title == path else title,
        path,
        size_text(summary.size),
        summary.content_type,
        "" if summary.complete else "(incomplete: the sender disconnected)",
    ]
    return "  ".join(visible(word) for word in words if word)
