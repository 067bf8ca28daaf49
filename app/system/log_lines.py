"""Log messages as lines of JSON on standard error, for a program that collects them."""

from __future__ import annotations

import copy
import json
import logging
import sys
from logging.handlers import QueueHandler

from app.core.clock import rfc3339


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


class LineQueue(QueueHandler):
    """Makes the lines where messages are logged: a queue's own way of it loses the exception."""

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        line = copy.copy(record)
        line.msg, line.args, line.exc_info, line.exc_text, line.stack_info = json_line(record), None, None, None, None
        return line


class LinePrinter(logging.Handler):
    """Prints the lines. Who collects them may have gone, which is no reason to stop."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(f"{record.msg}\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # the last one: it was closed
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Nothing: there is no other place to say it."""
