"""The options of `serve`, the window and the selftest: their arguments and the records made of them; what is done with
these, and what else the command line needs of the rest of the program; the data folder."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.command import USUAL, Commands, whole_number
from app.cli.errors import CliError, Exit
from app.cli.field_options import as_typed
from app.core.errors import HooklineError
from app.core.files import tunnel_ids
from app.core.links import BrokenLink, LaunchAction, Link, LinkError, parse_link, parse_or_broken_link
from app.core.record import Record
from app.core.rules import name_error
from app.core.settings import Settings, check
from hookline.running import FOLDER_VARIABLE, ApiAddress, usual_folder

if TYPE_CHECKING:
    from app.core.backup import BackupContents, CopiedStore, Report
    from app.core.doctor import Finding
    from app.core.team import Role


def default_folder(portable: Path | None = None) -> Path:
    """`HOOKLINE_DATA_DIR`, else the folder of a portable program, else the usual one; HooklineError without any."""
    variable = os.environ.get(FOLDER_VARIABLE)
    folder = Path(variable) if variable else portable or usual_folder()
    if folder is None:
        raise HooklineError(f"Your home folder is not known. Set HOME, or set {FOLDER_VARIABLE} to a data folder.")
    return folder


def absolute_path(path: Path) -> Path:
    """The path for a program whose working folder may be another; CliError for an unknown `~name`."""
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:
        raise CliError(f"{path} starts with an unknown home folder. Use the full path.", Exit.USAGE) from error


class ListenOptions(Record, frozen=True):
    """Settings of this run only; None leaves the saved one in force. Port 0 takes any free port."""

    data_dir: Path
    port: int | None = None
    host: str | None = None
    api_port: int | None = None
    api_host: str | None = None
    base_url: str | None = None
    proxies: str | None = None
    store: str | None = None

    def overrides(self) -> dict[str, Any]:
        """The settings given, by their names in `Settings`."""
        return {name: value for name in NAMES if (value := getattr(self, name)) is not None}

    def headless(self) -> ServeOptions:
        """To serve with the same settings, without a window."""
        return ServeOptions(**{name: getattr(self, name) for name in ListenOptions.__struct_fields__})


class ServeOptions(ListenOptions, frozen=True):
    """`hookline serve`. `endpoints` are names: each is created unless it exists. With a `forward_url` they forward to
    it; without any, one endpoint that does is found or created. `tunnel` is a program's id."""

    endpoints: tuple[str, ...] = ()
    forward_url: str | None = None
    tail: bool = False
    tunnel: str | None = None
    set_aside_damaged: bool = False
    new_database: bool = False
    exit_on_stdin_close: bool = False
    exit_when_unused: bool = False
    fsync: bool = True
    log_json: bool = False


class ListenToOptions(ListenOptions, frozen=True, kw_only=True):
    """`hookline listen`. `slug` None: the endpoint that forwards to `url` already, or a new one."""

    url: str
    slug: str | None = None
    as_json: bool = False


class WindowOptions(ListenOptions, frozen=True):
    """`hookline` alone. At most one of `link`, `new_endpoint` and `minimized` is given. `replaced` is the database that
    a restored backup has just replaced."""

    link: Link | BrokenLink | None = None
    new_endpoint: bool = False
    minimized: bool = False
    replaced: Path | None = None

    @property
    def launch_action(self) -> LaunchAction | Link | BrokenLink:
        """What the window opens, in this process or in the running one."""
        if self.link is not None:
            return self.link
        return (
            LaunchAction.NEW_ENDPOINT
            if self.new_endpoint
            else LaunchAction.STAY
            if self.minimized
            else LaunchAction.SHOW
        )

    def arguments(self) -> list[str]:
        """The command line that runs on the same folder with the same settings, and only opens the window."""
        given = (("--" + name.replace("_", "-"), str(value)) for name, value in self.overrides().items())
        return ["--data-dir", str(self.data_dir), *(word for pair in given for word in pair)]


class SelftestOptions(Record, frozen=True):
    """`hookline selftest`. `on_screen` shows the window on the real display, `headless` tries all but the window."""

    as_json: bool = False
    on_screen: bool = False
    headless: bool = False
    time_limit_s: float = 30.0


class CliServices(Record, frozen=True):
    """`serve`, `listen`, `window` and `selftest` run until they end and return the exit code.

    `open_api` opens the store in a data folder and serves the local API for one command; used only when no program has
    that folder open. `names_team_store` says whether a folder's settings, or the environment, name a team's store in
    place of a file; `require_database` raises HooklineError for a folder whose database is missing. `restore` puts a
    backup in the place of a folder's database, once the last of its arguments has accepted what it holds; it returns
    where the old one is, None without one. `copy_store` copies the first store to the second, each a data folder or the
    address of a team's store. `doctor` checks a folder and the system, the whole database if the second argument says
    so. `init_team` makes the store at an address, and returns the names of its roles. `portable_folder` is the data
    folder of a portable program, None for any other. `is_bundle` says whether this is the packaged program, which
    nothing can be installed into.
    """

    serve: Callable[[ServeOptions], int]
    listen: Callable[[ListenToOptions], int]
    window: Callable[[WindowOptions], int]
    open_api: Callable[[Path], AbstractContextManager[ApiAddress]]
    selftest: Callable[[SelftestOptions], int]
    names_team_store: Callable[[Path], bool]
    require_database: Callable[[Path], None]
    restore: Callable[[Path, Path, Report, Callable[[BackupContents], None]], Path | None]
    copy_store: Callable[[str | Path, str | Path, Report], CopiedStore]
    doctor: Callable[[Path, bool], Iterable[Finding]]
    init_team: Callable[[str], Mapping[Role, str]]
    portable_folder: Path | None = None
    is_bundle: bool = False


NAMES = tuple(name for name in ListenOptions.__struct_fields__ if name != "data_dir")
"""The settings that may be given for one run."""
SERVE_EXAMPLES = (
    (
        "Capture without a window, with an endpoint, and print each request",
        'hookline serve --endpoint "Stripe test" --tail',
    ),
    ("Capture through a tunnel", "hookline serve --tunnel cloudflared-quick"),
    ("Capture through a tunnel of your own", "hookline serve --base-url https://hooks.example.com"),
)
START_NAMES = ("new_endpoint", "minimized", "replaced")


def listen_parser() -> argparse.ArgumentParser:
    """A parent parser with the options that both have; absent ones are left out."""
    parser = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = parser.add_argument_group("for this run only, overriding the settings")
    group.add_argument(
        "--port",
        type=whole_number,
        metavar="PORT",
        help="capture port, which senders connect to (8787); 0 picks a free one",
    )
    group.add_argument("--host", metavar="ADDRESS", help="the address to listen on (127.0.0.1)")
    group.add_argument(
        "--api-port", type=whole_number, metavar="PORT", help="port of the local API (8788); 0 picks a free one"
    )
    group.add_argument(
        "--api-host",
        metavar="ADDRESS",
        help="an address where the local API listens, too (127.0.0.1): for /healthz, /readyz and /metrics; its token"
        " travels in plain text",
    )
    group.add_argument("--base-url", metavar="URL", help="what capture URLs start with, such as your tunnel's URL")
    group.add_argument(
        "--proxies",
        metavar="NETWORKS",
        help="the reverse proxies in front of it, such as 10.0.0.0/8,192.0.2.7: their X-Forwarded-For says who sent a"
        " request",
    )
    group.add_argument(
        "--store",
        metavar="ADDRESS",
        help="a team's store (HOOKLINE_STORE), such as postgresql://USER@HOST/DATABASE; its password is in ~/.pgpass",
    )
    return parser


def start_parser() -> argparse.ArgumentParser:
    """A parent parser with the options of the window only; absent ones are left out."""
    parser = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--new-endpoint", action="store_true", help="open the form for a new endpoint")
    group.add_argument("--minimized", action="store_true", help="start minimized or in the tray, as at sign-in")
    parser.add_argument("--replaced", type=Path, help=argparse.SUPPRESS)  # from the window that restored a backup
    return parser


def add_serve(commands: Commands, run: Callable[..., int]) -> None:
    text, shared = "capture without a window until Ctrl-C", ("folder", "listen")
    serve = commands.add("serve", text, examples=SERVE_EXAMPLES, shared=shared, run_local=run)
    serve.add_argument(
        "--endpoint",
        dest="endpoints",
        action="append",
        default=[],
        metavar="NAME",
        help="print the URL of this endpoint, and create it if it does not exist; may be repeated",
    )
    serve.add_argument(
        "--forward-url",
        metavar="URL",
        help="forward what these endpoints capture to this URL, such as localhost:3000; without --endpoint, what one"
        " endpoint captures, which is kept for that",
    )
    serve.add_argument("--tail", action="store_true", help="print a line for each captured request and each delivery")
    ids = tunnel_ids()
    text = f"start this tunnel, and print its public URL: {', '.join(ids)}"
    serve.add_argument("--tunnel", metavar="PROGRAM", choices=ids, help=text)
    serve.add_argument(
        "--set-aside-damaged", action="store_true", help="if the database is damaged, move it aside and start fresh"
    )
    serve.add_argument(
        "--new-database", action="store_true", help="if the database is missing, start with an empty one"
    )
    serve.add_argument(
        "--exit-on-stdin-close",
        action="store_true",
        help="stop when standard input is closed: with the program at the other end of the pipe, however that ends",
    )
    serve.add_argument(
        "--exit-when-unused",
        action="store_true",
        help="print a port, and stop when no program is connected to it any more; until one is, when standard input is"
        " closed",
    )
    serve.add_argument(
        "--log-json",
        action="store_true",
        help="print what is logged on standard error, too, as lines of JSON, for a program that collects them",
    )
    serve.add_argument(
        "--no-fsync",
        dest="fsync",
        action="store_false",
        help="do not wait for the disk: faster, for tests and other data that nobody needs after a power failure",
    )


LISTEN_EXAMPLES = (
    ("Forward what comes to a program on port 3000, and print it", "hookline listen 3000"),
    ("The same for an endpoint of yours, and another path", "hookline listen stripe localhost:3000/hooks"),
    ("Keep only the lines of failed deliveries", "hookline listen 3000 | grep failed"),
)


def add_listen(commands: Commands, run: Callable[..., int]) -> None:
    text = "forward requests to a URL, and print requests and deliveries, until Ctrl-C"
    details = (
        f"{text}. Without SLUG it takes the first endpoint that forwards there already, or else creates one. It starts"
        " capturing unless Hookline is running. The endpoint and what it captured are kept."
    )
    listen = commands.add("listen", text, details, LISTEN_EXAMPLES, shared=(*USUAL, "listen"), run_local=run)
    listen.add_argument("slug", metavar="SLUG", nargs="?", help="the endpoint, created if it does not exist")
    listen.add_argument("url", metavar="URL", help="where to forward: 3000, localhost:3000/hooks or a whole URL")


def listen_to_options(options: argparse.Namespace, folder: Path) -> ListenToOptions:
    return ListenToOptions(
        data_dir=folder, url=options.url, slug=options.slug, as_json=options.as_json, **given_settings(options)
    )


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The given settings, each checked by its own rule; CliError for the first that breaks one."""
    given = {name: getattr(options, name) for name in NAMES if hasattr(options, name)}
    # 0 is not a valid setting, which would apply to the next start too, but a valid port for one run.
    ruled = {name: value for name, value in given.items() if value != 0}
    for error in check(Settings(**ruled)):
        if error.field in given:
            raise CliError(as_typed(error.field, error.message, options.names), Exit.USAGE)
    return given


def _endpoint_name(name: str) -> str:
    message = name_error(name)
    if message:
        raise CliError(f"--endpoint: {message}", Exit.USAGE)
    return name.strip()  # as it is stored, so that it is found again


def serve_options(options: argparse.Namespace, folder: Path) -> ServeOptions:
    own = set(ServeOptions.__struct_fields__) - set(ListenOptions.__struct_fields__)
    given = {name: getattr(options, name) for name in own} | given_settings(options)
    given["endpoints"] = tuple(map(_endpoint_name, options.endpoints))
    return ServeOptions(data_dir=folder, **given)


def window_options(options: argparse.Namespace, folder: Path) -> WindowOptions:
    """CliError for an invalid link that was typed; the window reports one that was clicked."""
    start = {name: getattr(options, name) for name in START_NAMES if hasattr(options, name)}
    link = parse_or_broken_link(options.link) if options.link is not None else None
    if isinstance(link, BrokenLink) and sys.stderr is not None and sys.stderr.isatty():
        try:
            parse_link(link.text)
        except LinkError as error:
            raise CliError(str(error), Exit.USAGE) from error
    return WindowOptions(data_dir=folder, link=link, **start, **given_settings(options))
