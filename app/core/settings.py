"""The settings, each declared once for dialog, file, API and command line."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, get_type_hints

import msgspec

from app.core.model import WhenFull
from app.core.record import Record
from app.core.rules import STORAGE_LIMIT_MAX, FieldError, forward_url_error, given_size, size_bounds
from app.core.sizes import GIB, KIB, MIB, TIB

TOTAL_LIMIT_MIN, TOTAL_LIMIT_DEFAULT = 16 * MIB, 20 * GIB


def _bounded(low: int, high: int, title: str, text: str) -> Any:
    return msgspec.Meta(ge=low, le=high, title=title, description=text)


def _size(low: int, high: int, title: str, text: str) -> Any:
    """Bytes, entered as `500 MB`. msgspec allows no bounds for optional values."""
    return msgspec.Meta(title=title, description=text, extra={"unit": "bytes", "bounds": (low, high)})


class Settings(Record, frozen=True):
    """`base_url=None`: capture URLs begin with the capture port's own address."""

    port: Annotated[int, _bounded(1, 65535, "Capture port", "The port senders connect to.")] = 8787
    host: Annotated[str, msgspec.Meta(title="Capture address", description="The address to listen on.")] = "127.0.0.1"
    api_port: Annotated[int, _bounded(1, 65535, "API port", "The local API's port, loopback only.")] = 8788
    base_url: Annotated[
        str | None,
        msgspec.Meta(title="Public base URL", description="Capture URLs start with it unless the tunnel is up."),
    ] = None
    tunnel_program: Annotated[
        str | None,
        msgspec.Meta(
            title="Tunnel program", description="The tunnel that Hookline starts, as hookline tunnel list names it."
        ),
    ] = None
    tunnel_autostart: Annotated[
        bool,
        msgspec.Meta(title="Start tunnel with Hookline", description="Start the tunnel whenever Hookline starts."),
    ] = False
    body_limit: Annotated[int, _size(KIB, GIB, "Largest body", "Senders of larger requests get 413.")] = 100 * MIB
    disk_reserve: Annotated[
        int,
        _size(
            16 * MIB,
            TIB,
            "Disk reserve",
            "Senders get 503 while less than this is free on the disk, so that deleting always works."
            " At most 5% of a disk smaller than 5 GiB.",
        ),
    ] = 256 * MIB
    storage_limit: Annotated[
        int | None,
        _size(TOTAL_LIMIT_MIN, STORAGE_LIMIT_MAX, "Storage limit", "The most all endpoints together may store."),
    ] = TOTAL_LIMIT_DEFAULT
    when_full: Annotated[
        WhenFull,
        msgspec.Meta(
            title="When storage is full",
            description="Delete the oldest requests, starred ones too, or stop capturing: senders get 503.",
        ),
    ] = "delete_oldest"
    response_limit: Annotated[
        int,
        _size(
            TOTAL_LIMIT_MIN,
            TIB,
            "Limit of responses",
            "The most that responses of targets may take, besides the storage limit. The oldest are removed; their"
            " attempts stay.",
        ),
    ] = GIB
    theme: Annotated[
        Literal["system", "light", "dark"],
        msgspec.Meta(title="Theme", description="Match the system, or always light or dark."),
    ] = "system"
    on_close: Annotated[
        Literal["quit", "tray"],
        msgspec.Meta(
            title="When the window is closed",
            description="Quit, or keep capturing in the tray.",
        ),
    ] = "quit"


@cache
def _declared() -> dict[str, Any]:
    return get_type_hints(Settings, include_extras=True)


def meta(key: str) -> msgspec.Meta:
    """Title, description and bounds declared for setting `key`."""
    declared = _declared()[key].__metadata__[0]
    assert isinstance(declared, msgspec.Meta)
    return declared


def bounds(key: str) -> tuple[int, int] | None:
    """The minimum and maximum of a number; None for any other setting."""
    declared = meta(key)
    if declared.ge is not None and declared.le is not None:
        return int(declared.ge), int(declared.le)
    found: tuple[int, int] | None = (declared.extra or {}).get("bounds")
    return found


def is_size(key: str) -> bool:
    return (meta(key).extra or {}).get("unit") == "bytes"


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
    errors = []
    for field in msgspec.structs.fields(Settings):
        allowed, value = bounds(field.name), getattr(settings, field.name)
        if allowed is not None and value is not None and not allowed[0] <= value <= allowed[1]:
            words, given = f"between {allowed[0]} and {allowed[1]}", str(value)
            if is_size(field.name):
                words, given = size_bounds(*allowed), given_size(value)
            message = f"{meta(field.name).title} must be {words}, not {given}."
            errors.append(FieldError(field=field.name, message=message))
    named = {
        "host": _host_error(settings.host),
        "base_url": _base_url_error(settings.base_url),
        "api_port": "Capture port and API port must differ." if settings.port == settings.api_port else None,
    }
    errors.extend(FieldError(field=key, message=message) for key, message in named.items() if message)
    return errors


def _host_error(host: str) -> str | None:
    """An address of this computer: `localhost` or a literal IP address."""
    if host == "localhost":
        return None
    from ipaddress import ip_address  # start-up time: few commands check it

    try:
        ip_address(host)
    except ValueError:
        return f"Capture address must be an IP address of this machine, or localhost, not {host!r}."
    return None


def _base_url_error(url: str | None) -> str | None:
    """As for all URLs that Hookline accepts: absolute http or https, without user info."""
    if url is None:
        return None
    return forward_url_error(url, label="Public base URL")
