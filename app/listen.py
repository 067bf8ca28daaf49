"""`hookline listen`: forwards an endpoint's requests to a URL and prints what happens, with the running program or as
the program."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial

from app.cli.client import ApiClient
from app.cli.commands.tail import Follower
from app.cli.connect import RunningProgram, responding_api
from app.cli.errors import CliError, Exit
from app.cli.forwarding import Forwarding, forwarding_endpoint
from app.cli.options import NAMES, ListenToOptions
from app.cli.output import Output, until_closed
from app.serve import opened
from app.stop_signals import set_on_signals
from hookline.running import ApiAddress


def run_listen(options: ListenToOptions) -> int:
    """Listen until SIGINT or SIGTERM, or until nobody reads it."""
    return asyncio.run(_listen(options, Output(options.as_json)))


async def _listen(options: ListenToOptions, out: Output) -> int:
    stop = asyncio.Event()
    set_on_signals(stop)
    async with contextlib.AsyncExitStack() as stack:
        address = await responding_api(options.data_dir)
        own = address is None
        if address is None:
            application = await stack.enter_async_context(opened(options.headless()))
            await application.listen()
            address = ApiAddress(url=application.addresses.api_url, token=application.token)
        elif given := [name for name in NAMES if getattr(options, name) is not None]:
            option = "--" + given[0].replace("_", "-")
            text = (
                f"Hookline is running on {options.data_dir}, so {option} has no effect. Leave it out, or stop Hookline."
            )
            raise CliError(text, Exit.USAGE)
        async with ApiClient(address) as api:
            forwarding = await forwarding_endpoint(api, options.url, options.slug)
        program = RunningProgram(options.data_dir, out, address)
        following = Follower(out, forwarding.endpoint.slug).run(program, 0, partial(_begin, out, forwarding, own=own))
        tasks = [
            asyncio.create_task(following, name="print events"),
            asyncio.create_task(until_closed(out.out), name="watch the pipe"),
            asyncio.create_task(stop.wait(), name="wait for the end"),
        ]
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        for task in done:
            task.result()
    _end(out, forwarding, own=own)
    return Exit.DONE


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
    if own:
        out.message(f"Stopped capturing. The endpoint {slug} and its requests are kept (hookline endpoint rm {slug}).")
    else:
        out.message(f"Hookline goes on capturing at {url} and forwarding.")
    target = forwarding.target
    out.message(f"To end the forwarding to {target.url}: hookline target rm {target.id}")
