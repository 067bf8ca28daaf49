"""The program's settings, each declared once: dialog, file and command line are made from these lines."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Any, Literal, get_type_hints

import msgspec

from app.core.model import Record
from app.core.rules import FieldError, forward_url_error

KIB, MIB, GIB, TIB = 1024, 1024**2, 1024**3, 1024**4


def _bounded(low: int, high: int, title: str, text: str) -> Any:
    return msgspec.Meta(ge=low, le=high, title=title, description=text)


class Settings(Record, frozen=True):
    """The values in force. `base_url=None` means that capture URLs start with the capture port's own address."""

    port: Annotated[int, _bounded(1, 65535, "Capture port", "The port senders reach.")] = 8787
    host: Annotated[str, msgspec.Meta(title="Capture address", description="The address to listen on.")] = "127.0.0.1"
    api_port: Annotated[int, _bounded(1, 65535, "API port", "The local API's port, loopback only.")] = 8788
    base_url: Annotated[
        str | None,
        msgspec.Meta(title="Public base URL", description="Your tunnel's address, shown in capture URLs."),
    ] = None
    body_limit: Annotated[int, _bounded(KIB, GIB, "Largest body", "A request with a larger one is answered 413.")] = (
        100 * MIB
    )
    disk_reserve: Annotated[
        int,
        _bounded(
            16 * MIB,
            TIB,
            "Disk reserve",
            "With less than this free on the disk, requests are answered 503, so that there is always room to delete."
            " On a disk smaller than 5 GiB it is 5 % of the disk at most.",
        ),
    ] = 256 * MIB
    theme: Annotated[
        Literal["system", "light", "dark"],
        msgspec.Meta(title="Theme", description="Follow the system, or choose."),
    ] = "system"
    on_close: Annotated[
        Literal["quit", "tray"],
        msgspec.Meta(title="When the window is closed", description="Quit, or go on capturing in the tray."),
    ] = "quit"


def meta(key: str) -> msgspec.Meta:
    """Title, description and bounds declared for setting `key`."""
    declared = get_type_hints(Settings, include_extras=True)[key].__metadata__[0]
    assert isinstance(declared, msgspec.Meta)
    return declared


def check(settings: Settings) -> list[FieldError]:
    """Every value that breaks its declared bounds, with a message naming setting, bound and what was given."""
    errors = []
    for field in msgspec.structs.fields(Settings):
        declared, value = meta(field.name), getattr(settings, field.name)
        low, high = declared.ge, declared.le
        if low is not None and high is not None and not low <= value <= high:
            message = f"{declared.title} must be between {low} and {high}; {value} was given."
            errors.append(FieldError(field=field.name, message=message))
    named = {
        "host": _host_error(settings.host),
        "base_url": _base_url_error(settings.base_url),
        "api_port": "Capture port and API port must differ." if settings.port == settings.api_port else None,
    }
    errors.extend(FieldError(field=key, message=message) for key, message in named.items() if message)
    return errors


def _host_error(host: str) -> str | None:
    """An address of this machine: `localhost` or a literal IP address."""
    if host == "localhost":
        return None
    try:
        ip_address(host)
    except ValueError:
        return f"Capture address must be an IP address of this machine, or localhost; {host!r} was given."
    return None


def _base_url_error(url: str | None) -> str | None:
    """The same as for any URL that Hookline takes: absolute http or https, without user info."""
    if url is None:
        return None
    message = forward_url_error(url)
    return message.replace("Forward URL", "Public base URL") if message else None
