"""The program's log: `hookline.log` in the data folder, small and readable by its owner alone; and lines of JSON on
standard error, for a program that collects them."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path
from queue import SimpleQueue
from typing import TextIO

from app import __version__
from app.core.clock import rfc3339
from app.core.files import LOG_NAME, OLD_LOGS

log = logging.getLogger(__name__)

SIZE_MAX = 512 * 1024
MINUTE_S = 60.0
_KINDS_MAX = 1_000
OWN = "app"
"""The loggers whose messages below a warning are kept: other libraries' name whole URLs."""
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class OneAMinute(logging.Filter):
    """Lets one warning or error of a kind pass each minute; the next one says how many were left out.

    Of one kind are those of one logger whose first lines and exceptions are equal. Several handlers may share a filter.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._kinds: dict[object, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        with self._lock:
            if "passes" not in record.__dict__:
                record.__dict__["passes"] = record.levelno < logging.WARNING or self._passes(record)
            return record.__dict__["passes"] is True

    def _passes(self, record: logging.LogRecord) -> bool:
        text, now = record.getMessage(), time.monotonic()
        kind = record.name, text.partition("\n")[0], record.exc_info and record.exc_info[0]
        passed_at, left_out = self._kinds.pop(kind, (-math.inf, 0))
        if now - passed_at < MINUTE_S:
            self._kinds[kind] = passed_at, left_out + 1
            return False
        self._kinds[kind] = now, 0
        if len(self._kinds) > _KINDS_MAX:
            del self._kinds[next(iter(self._kinds))]
        if left_out:
            record.msg, record.args = f"{text} ({left_out:,} more like this since the last one)", ()
        return True


class LogFile(RotatingFileHandler):
    """A full disk, or a folder that cannot be written, loses lines and nothing else."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=SIZE_MAX, backupCount=OLD_LOGS, encoding="utf-8", errors="backslashreplace")
        self.setFormatter(logging.Formatter(_FORMAT))

    def _open(self):  # type: ignore[no-untyped-def]  # typeshed's type is private
        return open(self.baseFilename, "a", encoding=self.encoding, errors=self.errors, opener=_open_private)

    def handleError(self, record: logging.LogRecord) -> None:
        """Nothing: to report it on standard error would only move the noise."""


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextlib.contextmanager
def write_log(folder: Path, *, as_json: bool = False) -> Iterator[None]:
    """Write log messages to the file in `folder`, on a thread of their own, and warnings to standard error as
    before; or there all that the file gets, as lines of JSON."""
    with contextlib.ExitStack() as ending:
        handlers: list[logging.Handler] = []
        with contextlib.suppress(OSError):  # standard error is left
            file = LogFile(folder / LOG_NAME)
            ending.callback(_close, file)
            handlers.append(_queued(file, ending))
        if as_json:
            handlers.append(_queued(_LinePrinter(sys.stderr), ending, _JsonLines()))
        elif handlers and logging.lastResort is not None:
            handlers.append(logging.lastResort)
        if handlers:
            ending.enter_context(_logging_to(handlers))
        yield


def _queued(
    to: logging.Handler, ending: contextlib.ExitStack, formatter: logging.Formatter | None = None
) -> logging.Handler:
    """Lets `to` write what is logged, on a thread of its own, until the end."""
    handler = QueueHandler(SimpleQueue())
    handler.addFilter(_is_kept)
    handler.setFormatter(formatter)
    listener = QueueListener(handler.queue, to)
    listener.start()
    ending.callback(listener.stop)
    return handler


@contextlib.contextmanager
def _logging_to(handlers: Sequence[logging.Handler]) -> Iterator[None]:
    root, own = logging.getLogger(), logging.getLogger(OWN)
    level = own.level
    own.setLevel(logging.INFO)
    one_a_minute = OneAMinute()
    for each in handlers:
        each.addFilter(one_a_minute)
        root.addHandler(each)
    log.info("Hookline %s has started as process %d", __version__, os.getpid())
    try:
        yield
    finally:
        log.info("Hookline has stopped")
        for each in handlers:
            each.removeFilter(one_a_minute)
            root.removeHandler(each)
        own.setLevel(level)


def _close(file: LogFile) -> None:
    with contextlib.suppress(OSError):  # what was not written yet may have no room
        file.close()


def _is_kept(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or record.name.split(".", 1)[0] == OWN


def json_line(record: logging.LogRecord) -> str:
    """`time`, `level`, `logger` and `message`, and `exception` with its traceback where there is one."""
    fields = {
        "time": rfc3339(round(record.created * 1_000_000)),
        "level": record.levelname,
        "logger": record.name,
        "message": record.getMessage(),
    }
    if record.exc_info:
        fields["exception"] = logging.Formatter().formatException(record.exc_info)
    return json.dumps(fields)


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json_line(record)


class _LinePrinter(logging.StreamHandler[TextIO]):
    """Prints the lines. Who collects them may have gone, which is no reason to stop."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Nothing: there is no other place to say it."""
