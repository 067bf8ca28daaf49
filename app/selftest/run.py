"""`hookline selftest`: the real program on a folder of its own, five requests, and whether each came back intact."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from app import __version__
from app.application import LOOPBACK, Application
from app.cli.options import SelftestOptions, WindowOptions
from app.core.errors import HooklineError
from app.core.model import EndpointDraft
from app.selftest.report import Report
from app.selftest.requests import PARCELS, Parcel, Sending
from app.server.forward.tls import client_context
from app.system import installation
from app.system.display import why_no_display
from app.system.qt_libraries import speak_utf8, why_no_qt

if TYPE_CHECKING:
    # At run time only where there is a window, see below.
    from app.gui import Ready
    from app.selftest.window_probe import Inspection

CHILD_S = 20.0
TRIES = 20


def run_selftest(options: SelftestOptions) -> int:
    """Try everything and print the results; 0 when all is well, else 1. Touches no data of the user's."""
    report = Report(options.as_json)
    with report.check("temporary folder") as seen:
        folder = _make_folder()
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


def _make_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="hookline-selftest-"))
    except FileNotFoundError as error:
        raise HooklineError("No folder for temporary files can be written. Set TMPDIR to one that can.") from error


@contextmanager
def _time_limit(seconds: float, report: Report, folder: Path) -> Iterator[None]:
    """End the process, saying what it was at, when it takes longer: whatever hangs cannot be asked to stop."""

    def give_up() -> None:
        code = report.give_up(f"not done within {seconds:g} s")
        for _ in range(TRIES):  # what hangs may write there still
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
    if options.headless:
        asyncio.run(_without_window(folder, report))
        return
    if not options.on_screen:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    speak_utf8()
    with report.check("display"):
        if reason := why_no_display() or why_no_qt():
            raise HooklineError(" ".join(reason.splitlines()))
    if report.is_good:
        _with_window(folder, report)


async def _without_window(folder: Path, report: Report) -> None:
    application = Application(folder, {"host": LOOPBACK, "port": 0, "api_port": 0})
    try:
        with report.check("start") as seen:
            await application.open()
            await application.listen()
            seen.detail = application.local_base()
        if report.is_good:
            await _capture(application, report)
            await _check_outside(report)
    finally:
        with report.check("close"):
            await application.close()


def _with_window(folder: Path, report: Report) -> None:
    # Only a selftest with a window may import Qt.
    from app.gui import run_window
    from app.selftest.window_probe import Inspection

    trials: list[asyncio.Task[None]] = []

    def begin(ready: Ready) -> None:
        report.passed("start", ready.application.local_base())
        inspection = Inspection(ready.window, ready.theme)
        trial = asyncio.get_running_loop().create_task(_try_out(ready, inspection, report), name="selftest")
        inspection.hidden.connect(trial.cancel)
        trial.add_done_callback(lambda _: trial.cancelled() or ready.window.close())
        trials.append(trial)

    report.doing = "start"
    options = WindowOptions(data_dir=folder, host=LOOPBACK, port=0, api_port=0)
    code = run_window(options, begin, lambda question: report.failed("start", question))
    if not trials:
        return
    if trials[0].cancelled():
        report.failed(report.doing, "the program was closed before the test was over")
        return
    with report.check("close"):
        trials[0].result()
        if code:
            raise HooklineError(f"The window ended with exit code {code}.")


async def _try_out(ready: Ready, inspection: Inspection, report: Report) -> None:
    with report.check("window") as seen:
        report.first_paint_ns = await inspection.first_paint()
        seen.detail = f"{inspection.platform()}, first painted at {report.first_paint_ns} ns (monotonic clock)"
    for name, look in inspection.looks().items():
        with report.check(name) as seen:
            seen.detail = look()
    kept = await _capture(ready.application, report, ready.window.show_endpoint)
    with report.check("list in the window") as seen:
        seen.detail = await inspection.listed([name for _, name in kept])
    for parcel, name in kept:
        with report.check(f"{parcel.name} in the window") as seen:
            seen.detail = await inspection.shown(name, parcel.view, parcel.text)
    await _check_outside(report)
    report.doing = "close"


async def _capture(
    application: Application, report: Report, show: Callable[[int], None] = lambda _: None
) -> list[tuple[Parcel, str]]:
    """Send the five requests to an endpoint, which `show` is called with; those that were stored, with their ids."""
    endpoint = await application.store.endpoints.create(EndpointDraft(name="Selftest"))
    show(endpoint.id)
    sending, kept = Sending(application, endpoint), []
    for parcel in PARCELS:
        with report.check(f"{parcel.name} captured") as seen:
            kept.append((parcel, await sending.try_out(parcel)))
            seen.detail = f"{parcel.method}, {len(parcel.body):,} bytes, the same in the store and in the local API"
    return kept


async def _check_outside(report: Report) -> None:
    """What the program needs of the world around it."""
    with report.check("started again") as seen:
        command = [*installation.command(), "version"]
        run = partial(subprocess.run, command, capture_output=True, text=True, timeout=CHILD_S, check=False)
        done = await asyncio.to_thread(run)
        if done.returncode or done.stdout.strip() != f"hookline {__version__}":
            raise HooklineError(f"{installation.executable()} said: {(done.stderr or done.stdout).strip()}")
        seen.detail = f"{installation.executable()}, {__version__}"
    with report.check("TLS") as seen:
        seen.detail = f"{len((await client_context()).get_ca_certs())} certificate authorities are trusted"
