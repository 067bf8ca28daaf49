"""The settings, each declared once for dialog, file, API and command line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias
from urllib.parse import unquote

from app.core.model import STORAGE_LIMIT_MAX, WhenFull
from app.core.record import Field, Record, fields_of
from app.core.rules import FieldError, field_errors, forward_url_error
from app.core.sizes import GIB, KIB, MIB, TIB

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

Network: TypeAlias = "IPv4Network | IPv6Network"
STORE_VARIABLE = "HOOKLINE_STORE"
"""The environment's variable that names the store."""
TOTAL_LIMIT_MIN, TOTAL_LIMIT_DEFAULT = 16 * MIB, 20 * GIB


class Settings(Record, frozen=True):
    """`base_url=None`: capture URLs begin with the capture port's own address."""

    port: Annotated[
        int, Field(title="Capture port", help="The port senders connect to.", low=1, high=65535, unit="port")
    ] = 8787
    host: Annotated[str, Field(title="Capture address", help="The address to listen on.")] = "127.0.0.1"
    api_port: Annotated[int, Field(title="API port", help="The local API's port.", low=1, high=65535, unit="port")] = (
        8788
    )
    api_host: Annotated[
        str,
        Field(
            title="API address",
            help="Where the local API listens besides 127.0.0.1, for probes and Prometheus elsewhere. Whoever calls the"
            " API there sends the token in plain text. It applies at the next start.",
        ),
    ] = "127.0.0.1"
    base_url: Annotated[
        str | None,
        Field(title="Public base URL", help="Capture URLs start with it unless the tunnel is up."),
    ] = None
    proxies: Annotated[
        str | None,
        Field(
            title="Reverse proxies",
            help="The proxies in front of the capture port: addresses or networks, with commas between them. Of a"
            " request from there, X-Forwarded-For and X-Forwarded-Proto say who sent it.",
        ),
    ] = None
    store: Annotated[
        str | None,
        Field(
            title="Store",
            help="The address of a team's store, such as postgresql://USER@HOST/DATABASE; none: the file in the data"
            " folder. It applies at the next start.",
        ),
    ] = None
    window_captures: Annotated[
        bool,
        Field(
            title="Capture on this machine",
            help="Whether the window captures into a team's store, too; without that, hookline serve does, here or"
            " elsewhere. It applies at the next start.",
        ),
    ] = False
    tunnel_program: Annotated[
        str | None,
        Field(title="Tunnel program", help="The tunnel that Hookline starts, as hookline tunnel list names it."),
    ] = None
    tunnel_autostart: Annotated[
        bool,
        Field(title="Start tunnel with Hookline", help="Start the tunnel whenever Hookline starts."),
    ] = False
    body_limit: Annotated[
        int, Field(title="Largest body", help="Senders of larger requests get 413.", low=KIB, high=GIB, unit="bytes")
    ] = 100 * MIB
    disk_reserve: Annotated[
        int,
        Field(
            title="Disk reserve",
            help="Senders get 503 while less than this is free on the disk, so that deleting always works."
            " At most 5% of a disk smaller than 5 GiB.",
            low=16 * MIB,
            high=TIB,
            unit="bytes",
        ),
    ] = 256 * MIB
    storage_limit: Annotated[
        int | None,
        Field(
            title="Storage limit",
            help="How much all endpoints may store together.",
            low=TOTAL_LIMIT_MIN,
            high=STORAGE_LIMIT_MAX,
            unit="bytes",
        ),
    ] = TOTAL_LIMIT_DEFAULT
    when_full: Annotated[
        WhenFull,
        Field(
            title="When storage is full",
            help="Delete the oldest requests, starred ones too, or stop capturing: senders get 503.",
            choices=("Delete oldest requests", "Stop capturing"),
        ),
    ] = "delete_oldest"
    response_limit: Annotated[
        int,
        Field(
            title="Limit of responses",
            help="The most that responses of targets may take. The oldest are removed; their attempts stay.",
            low=TOTAL_LIMIT_MIN,
            high=TIB,
            unit="bytes",
        ),
    ] = GIB
    theme: Annotated[
        Literal["system", "light", "dark"],
        Field(
            title="Theme", help="Match the system, or always light or dark.", choices=("Match system", "Light", "Dark")
        ),
    ] = "system"
    on_close: Annotated[
        Literal["quit", "tray"],
        Field(
            title="When the window is closed",
            help="Quit, or keep capturing in the tray.",
            choices=("Quit", "Keep running in the tray"),
        ),
    ] = "quit"


def field_of(key: str) -> Field:
    """What is declared for setting `key`."""
    return fields_of(Settings)[key]


def override_text(saved: str | None) -> str:
    """What to say of a setting that has another value for this run alone; `saved` is its saved value, None for none."""
    return f"For this run only. {f'The saved value is {saved}.' if saved else 'No value is saved.'}"


def first_storage_limit(free: int, used: int = 0) -> int:
    """The storage limit chosen on first start, with `free` bytes free on the disk: 20 GiB or half of them, rounded
    down to whole GiB, or MiB below 1 GiB.

    What a database without its settings holds already (`used` bytes) is kept, with an eighth more.
    """
    half = min((free + used) // 2, TOTAL_LIMIT_DEFAULT)
    limit = half - half % (GIB if half >= GIB else MIB)
    return max(TOTAL_LIMIT_MIN, limit, -(-(used + used // 8) // MIB) * MIB if used else 0)


def check(settings: Settings) -> list[FieldError]:
    """All values outside their declared bounds, with a message naming setting, bound and value."""
    base_url = settings.base_url
    others = {
        "host": _host_error("Capture address", settings.host),
        "api_host": _host_error("API address", settings.api_host),
        "base_url": None if base_url is None else forward_url_error(base_url, label="Public base URL"),
        "proxies": _proxies_error(settings.proxies),
        "store": store_error(settings.store),
    }
    if settings.port == settings.api_port:
        others["api_port"] = "Capture port and API port must differ."
    return list(field_errors(settings, others))


def _host_error(label: str, host: str) -> str | None:
    """An address of this computer: `localhost` or a literal IP address."""
    if host == "localhost":
        return None
    from ipaddress import ip_address  # start-up time: few commands check it

    try:
        ip_address(host)
    except ValueError:
        return f"{label} must be an IP address of this machine, or localhost, not {host!r}."
    return None


def networks(text: str) -> tuple[Network, ...]:
    """ValueError unless the text has addresses or networks, with commas between them."""
    from ipaddress import ip_network  # start-up time: few have any

    return tuple(ip_network(part.strip(), strict=False) for part in text.split(","))


def _proxies_error(text: str | None) -> str | None:
    try:
        networks(text or "::1")
    except ValueError:
        return f"Reverse proxies must be IP addresses or networks such as 10.0.0.0/8, not {text!r}."
    return None


def store_error(address: str | None) -> str | None:
    """Why this is no address of a team's store that others may see; None if it is one, or none is given."""
    if address is None:
        return None
    if not is_store_address(address):
        return f"Store must be an address such as postgresql://USER@HOST/DATABASE, or service=NAME, not {address!r}."
    if says_password(address):
        return "Store must not say the password, which others could see. Put it into ~/.pgpass or HOOKLINE_STORE."
    return None


def is_store_address(text: str) -> bool:
    """Whether it looks like the address of a team's store."""
    return text.startswith(("postgresql://", "postgres://", "service="))


def says_password(address: str) -> bool:
    """Whether others could see the password of a team's store."""
    return _PASSWORD.search(unquote(address)) is not None


_PASSWORD = re.compile(r"//[^/@]*:[^/@]*@|[?&\s](?:ssl)?password\s*=")
