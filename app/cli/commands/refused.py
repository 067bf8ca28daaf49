"""`hookline refused`: refused requests, and why, newest first."""

from __future__ import annotations

import os
from contextlib import aclosing
from typing import TYPE_CHECKING

from app.cli.argument_types import row_count, whole_number
from app.cli.call import Call
from app.cli.command import Commands
from app.cli.errors import CliError, Exit
from app.cli.output import RED, when_text, write_bytes
from app.cli.table import Column

if TYPE_CHECKING:
    from hookline.records import Refusal

HELP = "list refused requests and why they were not captured, newest first"
DETAILS = f"{HELP}. Hookline keeps the newest 1,000 until it quits."
EXAMPLES = (
    ("See why the latest requests were refused", "hookline refused -n 5"),
    ("Show the third refused request as received", "hookline refused --raw 3"),
)
COLUMNS: tuple[Column[Refusal], ...] = (
    Column("ID", lambda one: str(one.id)),
    Column("TIME", lambda one: when_text(one.at), left_out=2),
    Column("STATUS", lambda one: str(one.status), code=lambda one: RED),
    Column("FROM", lambda one: one.source.address, left_out=4),
    Column("METHOD", lambda one: one.method or "-", least=6, left_out=3),
    Column("TARGET", lambda one: one.target or "-", least=12, left_out=1),
    Column("REASON", lambda one: one.reason, least=20),
)


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add("refused", HELP, DETAILS, EXAMPLES, run=list_refused)
    parser.add_argument("-n", dest="count", type=row_count, metavar="N", default=50, help="maximum number to list (50)")
    parser.add_argument(
        "--raw", type=whole_number, metavar="N", help="write one refused request as received, up to 64 KiB"
    )


async def list_refused(call: Call) -> int:
    """Print them, or the bytes of one; without a running program there are none."""
    if call.options.raw is not None:
        return await _write_raw(call, call.options.raw)
    if not await call.show_list(call.api.asked.refused(call.options.count), COLUMNS) and not call.out.as_json:
        is_running = (await call.api.status()).pid != os.getpid()
        call.out.message(
            "No refused requests." if is_running else "Hookline is not running, so there are no refused requests."
        )
    return Exit.DONE


async def _write_raw(call: Call, refusal_id: int) -> int:
    if call.out.as_json:
        raise CliError("--raw writes bytes and cannot be combined with --json.", Exit.USAGE)
    async with aclosing(call.api.bytes_of("refused", str(refusal_id), "raw")) as pieces:
        await write_bytes(call.out, pieces)
    return Exit.DONE
