"""Runs one command: parses it, connects to the API if it needs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence

from app.cli.call import Call, LocalCall
from app.cli.errors import CliError, Exit
from app.cli.field_options import all_as_typed
from app.cli.options import CliServices, absolute_path, default_folder
from app.cli.output import Output
from app.cli.parser import parse
from app.core.errors import DamagedDatabaseError, HooklineError

__all__ = ["CliServices", "main"]

COMPLETE = "--complete"
"""What the shells' completions call."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(arguments: Sequence[str], services: CliServices) -> int:
    """Run the command; returns the process's exit code."""
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _dispatch(list(arguments), services)
        sys.stdout.flush()
    except HooklineError as error:
        return _print_error(error)
    except BrokenPipeError:
        _drop_output()
        return Exit.DONE  # the reader has seen enough
    except UnicodeEncodeError:
        Output().message("An argument contains bytes that are not UTF-8 text.")
        return Exit.USAGE
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        Output().message(f"The output cannot be written: {error.strerror}. Free some space, or write it elsewhere.")
        _drop_output()
        return Exit.ENVIRONMENT
    except KeyboardInterrupt:
        Output().leave_line()
        return Exit.INTERRUPTED
    except SystemExit as end:  # argparse, after --help
        return int(end.code or 0)
    return code


def _dispatch(arguments: list[str], services: CliServices) -> int:
    if arguments[:1] == [COMPLETE]:
        from app.cli.commands.completion import complete  # start-up time: a command loads its own module only

        complete(arguments[1:], services)
        return Exit.DONE
    options = parse(arguments)
    try:
        return _run(options, services)
    except CliError as error:
        if error.fields:
            raise CliError(all_as_typed(error.fields, options.names), error.code, error.details) from error
        raise


def _print_error(error: HooklineError) -> int:
    """Print one line on standard error, with details below it on a terminal; returns the exit code."""
    output = Output()
    output.message(f"{error} {error.REPAIR}" if isinstance(error, DamagedDatabaseError) else str(error))
    if not isinstance(error, CliError):
        return Exit.ENVIRONMENT
    if output.err.isatty():
        for line in error.details:
            print(line, file=output.err)
    return error.code


def _replace_closed_streams() -> None:
    """A process may be started with its standard streams closed (`>&-`); Python then has none."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open as long as the process


def _drop_output() -> None:
    """Buffered output must not fail at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(options: argparse.Namespace, services: CliServices) -> int:
    out = Output(options.as_json)
    code: int
    if hasattr(options, "run_alone"):
        code = options.run_alone(options, out, services)
        return code
    folder = absolute_path(getattr(options, "data_dir", None) or default_folder(services.portable_folder))
    if not hasattr(options, "run"):
        code = options.run_local(LocalCall(options, out, folder, services))
        return code
    from app.cli.client import connect  # start-up time: `hookline version` needs no HTTP

    create, without_data = getattr(options, "creates", False), getattr(options, "without_data", False)
    with connect(folder, services, create=create, without_data=without_data) as api:
        code = options.run(Call(options=options, out=out, api=api))
        return code
