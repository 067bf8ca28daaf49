"""`hookline tunnel`: make the capture port reachable from the internet, and see how that is going."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.call import Call
from app.cli.command import Commands, add_count, text_in
from app.cli.errors import CliError, Exit
from app.cli.identifiers import SLUG_HELP, slug_given
from app.cli.output import GREEN, RED, Column, Output, brief_time, print_table, when_text
from app.core.files import tunnel_ids
from app.core.text import ms_text
from app.core.tunnel import CONNECTED, DOWN, url_mark
from app.core.tunnel_program import is_ssh

if TYPE_CHECKING:
    from hookline.records import Probe, Tunnel, TunnelProgram, TunnelUrl

HELP = "make the capture port reachable from the internet"
WORKING = ("starting", "stopping")
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "list": (("See which programs are installed", "hookline tunnel list"),),
    "start": (
        ("Get a public URL without an account", "hookline tunnel start cloudflared-quick"),
        ("Keep the same URL with ngrok", "hookline tunnel start ngrok --set domain=name.ngrok-free.dev"),
        ("Use your own server", "hookline tunnel start ssh --set host=my.server --set remote_port=9001"),
        ("Use any other program", "hookline tunnel start own --set 'command=tmole {port}'"),
        ("Read a secret from a file", "hookline tunnel start ngrok --set authtoken=@token.txt"),
    ),
    "status": (
        ("Print the public URL", "hookline tunnel status --json | jq -r .url"),
        ("Start the tunnel again unless it works", "hookline tunnel status || hookline tunnel start ngrok"),
    ),
}


def _options_text(program: TunnelProgram) -> str:
    texts = []
    for option in program.options:
        value = option.value if option.value is not None else "(saved)" if option.is_set else option.default
        needed = " (required)" if option.required and not value else ""
        texts.append(f"{option.name}={value}{needed}")
    return ", ".join(texts)


LIST_COLUMNS: tuple[Column[TunnelProgram], ...] = (
    Column("PROGRAM", lambda one: one.id),
    Column(
        "INSTALLED",
        lambda one: "no" if one.path is None else "via ssh" if is_ssh(one.path) else "yes",
        code=lambda one: "" if one.path is None else GREEN,
    ),
    Column("SAME URL", lambda one: "yes" if one.fixed_url else "no", left_out=3),
    Column("SUMMARY", lambda one: one.summary, least=20, left_out=1),
    Column("OPTIONS", _options_text, least=10, left_out=2, empty=""),
)
HISTORY_COLUMNS: tuple[Column[TunnelUrl], ...] = (
    Column("SINCE", lambda one: when_text(one.since), short=brief_time, shortened=2),
    Column(
        "UNTIL", lambda one: when_text(one.until) if one.until else "now", left_out=1, short=brief_time, shortened=2
    ),
    Column("PROGRAM", lambda one: one.program, left_out=1),
    Column("URL", lambda one: one.url, least=20),
)


def add_parser(commands: Commands) -> None:
    """Add the noun and its verbs to the command line."""
    verb = commands.noun("tunnel", HELP, examples=EXAMPLES)
    verb("list", list_programs, "list the tunnel programs that Hookline can run").set_defaults(without_data=True)
    begin = verb("start", start, "start a tunnel, and wait for its public URL; another one is stopped")
    _add_program(begin)
    begin.add_argument("--set", dest="values", action="append", default=[], metavar="NAME=VALUE", help=_VALUE_HELP)
    verb("stop", stop, "stop the tunnel")
    verb("status", show_status, "show the state of the tunnel, its public URL and outdated URLs; 1 if it failed")
    verb("probe", probe, "check that the public URL reaches this Hookline")
    history = verb("history", show_history, "list the public URLs that the tunnel had")
    add_count(history)
    change = verb("set", set_options, "save options of a tunnel program, for its next start")
    _add_program(change)
    change.add_argument("values", metavar="NAME=VALUE", nargs="+", help=_VALUE_HELP)
    updated = verb("updated", mark_updated, "say that the provider has the new URL of an endpoint")
    updated.add_argument("slug", metavar="SLUG", help=SLUG_HELP)


_VALUE_HELP = "an option, as hookline tunnel list names it; =@FILE reads the value from a file, = removes it"


def _add_program(parser: argparse.ArgumentParser) -> None:
    ids = tunnel_ids()
    parser.add_argument("program", metavar="PROGRAM", choices=ids, help=", ".join(ids))


def list_programs(call: Call) -> int:
    return call.send(call.api.tunnel.asked.programs(), _print_programs, "items")


def _print_programs(out: Output, programs: Sequence[TunnelProgram]) -> None:
    print_table(out, LIST_COLUMNS, programs)
    missing = [program for program in programs if program.path is None and program.id != "own"]
    if missing and out.terminal:
        out.line()
        for program in missing:
            out.line(f"To install {program.id}: {program.install}")


def start(call: Call) -> int:
    options = call.options
    values = _given(options.values)
    if values:
        call.api.tunnel.set_options(options.program, values)
    answer = call.api.answer(call.api.tunnel.asked.start(options.program))
    if call.out.terminal:
        _print_warnings(call, options.program)
    answer = call.until_ended(answer, call.api.tunnel.asked.get(), _working)
    tunnel = answer.value
    if tunnel.state not in CONNECTED:
        raise CliError(tunnel.problem or "The tunnel was stopped before it had a URL.", Exit.ENVIRONMENT)
    if tunnel.state != "up":
        call.out.message(
            f"The URL is not known to work yet ({url_mark(tunnel.state)}). Check it: hookline tunnel probe"
        )
    return call.show(answer, _started)


def _working(tunnel: Tunnel) -> str | None:
    return f"The tunnel is {tunnel.state}." if tunnel.state in WORKING else None


def _started(out: Output, tunnel: Tunnel) -> None:
    out.line(tunnel.url or "")
    _show_outdated(out, tunnel)


def _print_warnings(call: Call, program_id: str) -> None:
    for program in call.api.tunnel.programs():
        if program.id == program_id:
            for warning in program.warnings:
                call.out.message(warning)


def stop(call: Call) -> int:
    before = call.api.tunnel.get()

    def stopped(out: Output, _: Tunnel) -> None:
        out.line("Stopped." if before.state != "off" else "No tunnel is running.")

    return call.send(call.api.tunnel.asked.stop(), stopped)


def show_status(call: Call) -> int:
    """Exit code 1 if the tunnel failed, or the last probe did."""
    answer = call.api.answer(call.api.tunnel.asked.get())
    call.show(answer, _print_status)
    tunnel = answer.value
    is_wrong = tunnel.state in DOWN or (tunnel.state == "checking" and tunnel.reason)
    return Exit.FAILURE if is_wrong else Exit.DONE


def _print_status(out: Output, tunnel: Tunnel) -> None:
    again = f" at {when_text(tunnel.restart_at)}" if tunnel.restart_at else ""
    out.field("Tunnel", tunnel.state + again)
    if tunnel.program and tunnel.state != "off":
        out.field("Program", tunnel.program)
    out.field("URL", tunnel.url)
    if tunnel.up_since:
        out.field("Since", when_text(tunnel.up_since))
    if tunnel.restarts:
        out.field("Restarts", str(tunnel.restarts))
    if tunnel.probe:
        out.field("Last check", f"{_probe_text(tunnel.probe)} ({when_text(tunnel.probe.at)})")
    if tunnel.problem and (tunnel.probe is None or tunnel.problem != tunnel.probe.problem):
        out.field("Problem", tunnel.problem)
    _show_outdated(out, tunnel)
    if tunnel.state in ("failed", "restarting"):
        for line in tunnel.output:
            out.line(f"  {line}")


def probe(call: Call) -> int:
    """Exit code 1 if the URL does not reach Hookline."""
    answer = call.api.answer(call.api.tunnel.asked.probe())
    call.show(answer, _print_probe)
    return Exit.DONE if answer.value.problem is None else Exit.FAILURE


def _print_probe(out: Output, result: Probe) -> None:
    worked = result.problem is None
    out.marked("✓" if worked else "✗", GREEN if worked else RED, _probe_text(result))


def show_history(call: Call) -> int:
    asked = call.api.tunnel.asked.history(call.options.count)
    call.show_list(asked, HISTORY_COLUMNS, "There has been no tunnel yet.")
    return Exit.DONE


def set_options(call: Call) -> int:
    asked = call.api.tunnel.asked.set_options(call.options.program, _given(call.options.values))
    return call.send(asked, lambda out, program: out.line(_options_text(program)))


def mark_updated(call: Call) -> int:
    slug = slug_given(call.options.slug)

    def marked(out: Output, tunnel: Tunnel) -> None:
        out.line(f"Marked the URL of {slug} as updated.")
        _show_outdated(out, tunnel)

    return call.send(call.api.tunnel.asked.updated(slug), marked)


def _given(texts: list[str]) -> dict[str, str]:
    """`NAME=VALUE` as options. CliError for any other text, and for a file that cannot be read."""
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise CliError(f"Write options as NAME=VALUE, not {text!r}.", Exit.USAGE)
        values[name] = text_in(Path(value[1:])).strip() if value.startswith("@") else value
    return values


def _probe_text(probe: Probe) -> str:
    return probe.problem or f"The public URL works, in {ms_text(probe.ms or 0)}."


def _show_outdated(out: Output, tunnel: Tunnel) -> None:
    for one in tunnel.outdated:
        new = f" with {one.new_url}" if one.new_url else ""
        out.field("Outdated", f"{one.url}: update it at the provider{new}")
