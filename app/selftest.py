"""`hookline selftest`: the real program on a folder of its own, five requests that are sent byte by byte to the capture
port, and whether each was stored intact."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from app import __version__
from app.application import Application
from app.cli.options import SelftestOptions, WindowOptions
from app.cli.output import GREEN, RED, Output
from app.core.errors import HooklineError
from app.core.model import Endpoint, EndpointDraft
from app.core.record import Headers
from app.server.addresses import LOOPBACK
from app.server.forward.tls import client_context
from app.system import installation
from app.system.display import set_utf8_locale, why_no_display, why_no_qt, why_not_installed
from hookline.client import ApiError, Client
from hookline.client import Headers as SentHeaders
from hookline.records import RequestHead

if TYPE_CHECKING:
    # At run time only where there is a window, see below.
    from app.gui import Ready
    from app.window_probe import WindowProbe


TIMEOUT_S = 10.0
CHUNK = 50_000
JSON_BODY = '{"event":"selftest","name":"Zoë","amount":9007199254740993}'.encode()
JSON_TEXT = "Zoë"
BINARY = bytes(range(256)) * 4
LINE = b"0123456789abcde\n"

View = Literal["code", "hex", "nothing"]


@dataclass(frozen=True)
class SampleRequest:
    """A request to send. `path` is appended to the endpoint's URL; `body` must be stored unchanged.

    `view` is the view in which the window shows such a body, `text` a piece of the text it contains.
    """

    name: str
    method: str
    path: str = ""
    headers: Headers = ()
    body: bytes = b""
    chunked: bool = False
    view: View = "code"
    text: str = ""

    def sent_headers(self, host: str) -> Headers:
        """All headers as sent to `host`."""
        framing: Headers = ()
        if self.chunked:
            framing = (("Transfer-Encoding", "chunked"),)
        elif self.body:
            framing = (("Content-Length", str(len(self.body))),)
        return (("Host", host), *self.headers, *framing)


SAMPLES = (
    SampleRequest(
        "empty",
        "GET",
        "/a%2Fb/c?tag=1&tag=2&q=%20x",
        headers=(("x-odd-CASE", "1"), ("X-Twice", "a"), ("x-twice", "b")),
        view="nothing",
    ),
    SampleRequest("JSON", "POST", headers=(("content-type", "application/json"),), body=JSON_BODY, text=JSON_TEXT),
    SampleRequest("binary", "PUT", "/blob", (("Content-Type", "application/octet-stream"),), BINARY, view="hex"),
    SampleRequest(
        "gzip",
        "PATCH",
        headers=(("Content-Type", "application/json"), ("Content-Encoding", "gzip")),
        body=gzip.compress(JSON_BODY, mtime=0),
        text=JSON_TEXT,
    ),
    SampleRequest(
        "large", "POST", "/large", (("Content-Type", "text/plain"),), LINE * 70_000, chunked=True, text="abcde"
    ),
)


class SampleSender:
    """Sends requests to one endpoint of a running application, and reads them back from its store and its API."""

    def __init__(self, application: Application, endpoint: Endpoint) -> None:
        self._application, self._endpoint = application, endpoint
        self._url = urlsplit(application.addresses.local_url(endpoint.slug))

    async def send_and_compare(self, sample: SampleRequest) -> str:
        """Send one and compare it with what was stored; returns its id. HooklineError says what differs."""
        target, headers = self._url.path + sample.path, sample.sent_headers(self._url.netloc)
        status, response = await asyncio.to_thread(self._send, sample, target, headers)
        if not 200 <= status < 300:
            raise HooklineError(
                f"The capture port responded with {status}: {response.decode('utf-8', 'replace').strip()}"
            )
        name = str(json.loads(response)["id"])
        expected = {
            "method": sample.method,
            "target": target,
            "headers": headers,
            "size": len(sample.body),
            "sha256": hashlib.sha256(sample.body).hexdigest(),
            "complete": True,
        }
        store = self._application.store.captures
        stored = await store.get(name)
        if stored is None:
            raise HooklineError("The store does not know the request that was acknowledged.")
        _compare("The store", stored, expected)
        _compare_bodies("The store", await store.body(name), sample.body)
        returned, body = await asyncio.to_thread(self._ask_api, name)
        _compare("The local API", returned, {**expected, "headers": SentHeaders(headers)})
        _compare_bodies("The local API", body, sample.body)
        return name

    def _send(self, sample: SampleRequest, target: str, headers: Headers) -> tuple[int, bytes]:
        connection = HTTPConnection(self._url.netloc, timeout=TIMEOUT_S)
        with contextlib.closing(connection):
            connection.putrequest(sample.method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in headers:
                connection.putheader(name, value)
            body = (sample.body[at : at + CHUNK] for at in range(0, len(sample.body), CHUNK))
            connection.endheaders(body, encode_chunked=sample.chunked)
            try:
                response = connection.getresponse()
                return response.status, response.read()
            except HTTPException as error:
                raise HooklineError(f"The capture port gave no valid response: {error!r}") from error

    def _ask_api(self, name: str) -> tuple[RequestHead, bytes]:
        """A request and its body from the local API."""
        try:
            with Client(self._application.addresses.api_url, self._application.token) as client:
                return client.requests.head(name), client.requests.body(name)
        except ApiError as error:
            raise HooklineError(str(error)) from error


def _compare(who: str, stored: Any, expected: dict[str, Any]) -> None:
    for field, value in expected.items():
        if (found := getattr(stored, field)) != value:
            raise HooklineError(f"{who} has another {field}: {found!r}, not {value!r}.")


def _compare_bodies(who: str, body: bytes, expected: bytes) -> None:
    if body != expected:
        raise HooklineError(f"{who} has another body: {len(body):,} bytes, {len(expected):,} were sent.")


class CheckDetail:
    """The detail that a running check reports when it passes."""

    detail = ""


class Report:
    """Collects and prints results. `doing` names the current step, for the message that it did not end."""

    def __init__(self, as_json: bool) -> None:
        self._out = Output(as_json)
        self._checks: list[dict[str, str | bool]] = []
        self._begun = time.monotonic()
        self._lock = threading.RLock()
        self.doing = "start"
        self.first_paint_ns: int | None = None

    @property
    def is_good(self) -> bool:
        """Whether there was a check and none failed."""
        return bool(self._checks) and all(check["passed"] for check in self._checks)

    @contextlib.contextmanager
    def check(self, name: str) -> Iterator[CheckDetail]:
        """Run one check, which fails by any exception: a part missing from a bundle may raise anything."""
        self.doing = name
        seen = CheckDetail()
        try:
            yield seen
        except Exception as error:
            self.failed(name, str(error) if isinstance(error, HooklineError) else f"{type(error).__name__}: {error}")
        else:
            self.passed(name, seen.detail)

    def passed(self, name: str, detail: str = "") -> None:
        self._add(name, detail, passed=True)

    def failed(self, name: str, detail: str) -> None:
        self._add(name, detail, passed=False)

    def give_up(self, reason: str) -> int:
        """Called from another thread: fail the current check and print the results; the checking thread is blocked from
        then on."""
        self._lock.acquire()
        self.failed(self.doing, reason)
        return self.finish()

    def finish(self) -> int:
        """Print the results; returns the exit code."""
        with self._lock:
            seconds = round(time.monotonic() - self._begun, 3)
            if self._out.as_json:
                report = {
                    "passed": self.is_good,
                    "version": __version__,
                    "seconds": seconds,
                    "first_paint_ns": self.first_paint_ns,
                    "checks": self._checks,
                }
                self._out.json(report)
            elif self.is_good:
                self._out.line(f"selftest passed in {seconds:.1f} s")
            else:
                names = ", ".join(str(one["name"]) for one in self._checks if not one["passed"])
                self._out.line(f"selftest failed after {seconds:.1f} s: {names or 'nothing was tried'}")
            sys.stdout.flush()
            return 0 if self.is_good else 1

    def _add(self, name: str, detail: str, *, passed: bool) -> None:
        """`detail` says what was seen, or what was wrong."""
        with self._lock:
            self._checks.append({"name": name, "passed": passed, "detail": detail})
            if not self._out.as_json:
                mark, code = ("ok", GREEN) if passed else ("FAIL", RED)
                self._out.marked(f"{mark:<4}", code, f"{name}: {detail}" if detail else name)
                sys.stdout.flush()


CHILD_S = 20.0
TRIES = 20


def run_selftest(options: SelftestOptions) -> int:
    """Check everything and print the results; 0 when all checks pass, else 1. Touches none of the user's data."""
    report = Report(options.as_json)
    with report.check("temporary folder") as seen:
        try:
            folder = Path(tempfile.mkdtemp(prefix="hookline-selftest-"))
        except FileNotFoundError as error:
            raise HooklineError("No folder for temporary files can be written. Set TMPDIR to one that can.") from error
        seen.detail = str(folder)
    if report.is_good:
        try:
            with _time_limit(options.time_limit_s, report, folder):
                _run(folder, options, report)
                with report.check("clean up"):
                    shutil.rmtree(folder)
        finally:  # the reader of the output may have closed it
            shutil.rmtree(folder, ignore_errors=True)
    return report.finish()


@contextlib.contextmanager
def _time_limit(seconds: float, report: Report, folder: Path) -> Iterator[None]:
    """End the process with a message when it takes longer: whatever hangs cannot be asked to stop."""

    def give_up() -> None:
        code = report.give_up(f"not done within {seconds:g} s")
        for _ in range(TRIES):  # what hangs may still write there
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
        os._exit(code)

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _run(folder: Path, options: SelftestOptions, report: Report) -> None:
    absent = None if options.headless or options.on_screen else why_not_installed()
    if absent:
        report.passed("window", absent)
    if options.headless or absent:
        asyncio.run(_without_window(folder, report))
        return
    if not options.on_screen:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    set_utf8_locale()
    with report.check("display"):
        if reason := why_not_installed() or why_no_display() or why_no_qt():
            raise HooklineError(" ".join(reason.splitlines()))
    if report.is_good:
        _with_window(folder, report)


async def _without_window(folder: Path, report: Report) -> None:
    application = Application(folder, {"host": LOOPBACK, "port": 0, "api_port": 0})
    try:
        with report.check("start") as seen:
            await application.open()
            await application.listen()
            seen.detail = application.addresses.local_base()
        if report.is_good:
            await _capture(application, report)
            await _check_outside(report)
    finally:
        with report.check("close"):
            await application.close()


def _with_window(folder: Path, report: Report) -> None:
    # Only a selftest with a window may import Qt.
    from app.gui import run_window
    from app.window_probe import WindowProbe

    tasks: list[asyncio.Task[None]] = []

    def begin(ready: Ready) -> None:
        report.passed("start", ready.application.addresses.local_base())
        probe = WindowProbe(ready.window, ready.theme)
        task = asyncio.get_running_loop().create_task(_check_window(ready, probe, report), name="selftest")
        probe.hidden.connect(task.cancel)
        task.add_done_callback(lambda _: task.cancelled() or ready.window.close())
        tasks.append(task)

    report.doing = "start"
    options = WindowOptions(data_dir=folder, host=LOOPBACK, port=0, api_port=0)
    code = run_window(options, begin, lambda question: report.failed("start", question))
    if not tasks:
        return
    if tasks[0].cancelled():
        report.failed(report.doing, "the program was closed before the test was over")
        return
    with report.check("close"):
        tasks[0].result()
        if code:
            raise HooklineError(f"The window ended with exit code {code}.")


async def _check_window(ready: Ready, probe: WindowProbe, report: Report) -> None:
    with report.check("window") as seen:
        report.first_paint_ns = await probe.first_paint()
        seen.detail = f"{probe.platform()}, first painted at {report.first_paint_ns} ns (monotonic clock)"
    for name, check in probe.checks().items():
        with report.check(name) as seen:
            seen.detail = check()
    stored = await _capture(ready.application, report, ready.window.show_endpoint)
    with report.check("list in the window") as seen:
        seen.detail = await probe.check_list([name for _, name in stored])
    for sample, name in stored:
        with report.check(f"{sample.name} in the window") as seen:
            seen.detail = await probe.check_body(name, sample.view, sample.text)
    await _check_outside(report)
    report.doing = "close"


async def _capture(
    application: Application, report: Report, show: Callable[[int], None] = lambda _: None
) -> list[tuple[SampleRequest, str]]:
    """Send the five requests to an endpoint, which `show` is called with; returns those that were stored, with their
    ids."""
    endpoint = await application.store.endpoints.create(EndpointDraft(name="Selftest"))
    show(endpoint.id)
    sending, stored = SampleSender(application, endpoint), []
    for sample in SAMPLES:
        with report.check(f"{sample.name} captured") as seen:
            stored.append((sample, await sending.send_and_compare(sample)))
            seen.detail = f"{sample.method}, {len(sample.body):,} bytes, the same in the store and in the local API"
    return stored


async def _check_outside(report: Report) -> None:
    """What the program needs of the system."""
    with report.check("started again") as seen:
        command = [*installation.command(), "version"]
        run = partial(subprocess.run, command, capture_output=True, text=True, timeout=CHILD_S, check=False)
        done = await asyncio.to_thread(run)
        if done.returncode or done.stdout.strip() != f"hookline {__version__}":
            raise HooklineError(f"{installation.executable()} said: {(done.stderr or done.stdout).strip()}")
        seen.detail = f"{installation.executable()}, {__version__}"
    with report.check("TLS") as seen:
        seen.detail = f"{len((await client_context()).get_ca_certs())} certificate authorities are trusted"
