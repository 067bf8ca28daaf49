"""`hookline listen`: forwards an endpoint's requests to a URL and prints what happens, with the running program or as
the program."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial

from app.cli.client import ApiClient, RunningProgram, responding_api
from app.cli.commands.tail import Follower
from app.cli.errors import CliError, Exit
from app.cli.forwarding import Forwarding, forwarding_endpoint
from app.cli.options import NAMES, ListenToOptions
from app.cli.output import Output, when_closed
from app.event_loop import opened_on_thread
from app.serve import opened
from hookline.running import ApiAddress


def run_listen(options: ListenToOptions) -> int:
    """Listen until SIGINT or SIGTERM, or until nobody reads it."""
    out, forwarding = Output(options.as_json), None
    with _interruptible() as ending, contextlib.ExitStack() as stack:
        address = responding_api(options.data_dir)
        own = address is None
        if address is None:
            address = stack.enter_context(opened_on_thread(lambda: _capturing(options)))
        elif given := [name for name in NAMES if getattr(options, name) is not None]:
            option = "--" + given[0].replace("_", "-")
            text = (
                f"Hookline is running on {options.data_dir}, so {option} has no effect. Leave it out, or stop Hookline."
            )
            raise CliError(text, Exit.USAGE)
        stack.callback(ending)
        with ApiClient(address) as api:
            forwarding = forwarding_endpoint(api, options.url, options.slug)
        when_closed(out.out, lambda: os.kill(os.getpid(), signal.SIGTERM))
        program = RunningProgram(options.data_dir, out, address)
        Follower(out, forwarding.endpoint.slug).run(program, 0, partial(_begin, out, forwarding, own=own))
    if forwarding is not None:
        _end(out, forwarding, own=own)
    return Exit.DONE


@contextlib.asynccontextmanager
async def _capturing(options: ListenToOptions) -> AsyncIterator[ApiAddress]:
    async with opened(options.headless()) as application:
        await application.listen()
        yield ApiAddress(url=application.addresses.api_url, token=application.token)


@contextlib.contextmanager
def _interruptible() -> Iterator[Callable[[], None]]:
    """SIGINT and SIGTERM end what is done meanwhile. Once the function is called that is given, they do nothing."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ignore() -> None:
        for number in before:
            signal.signal(number, signal.SIG_IGN)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield ignore
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _begin(out: Output, forwarding: Forwarding, *, own: bool) -> None:
    endpoint = forwarding.endpoint
    for sentence in forwarding.changes:
        out.message(sentence)
    if out.as_json:
        out.json_line(forwarding.answer.json)
        return
    out.field("Endpoint", f"{endpoint.name} ({endpoint.slug})")
    out.field("URL", endpoint.url)
    for target in endpoint.targets:
        if target.active:
            out.field("Forwarded to", target.url)
    out.field("Captured by", "this command" if own else "the Hookline that is running")
    out.field("To stop", "press Ctrl-C")
    out.line()
    out.out.flush()


def _end(out: Output, forwarding: Forwarding, *, own: bool) -> None:
    """Say what stays."""
    slug, url = forwarding.endpoint.slug, forwarding.endpoint.url
    out.leave_line()
    if own:
        out.message(f"Stopped capturing. The endpoint {slug} and its requests are kept (hookline endpoint rm {slug}).")
    else:
        out.message(f"Hookline goes on capturing at {url} and forwarding.")
    target = forwarding.target
    out.message(f"To end the forwarding to {target.url}: hookline target rm {target.id}")
